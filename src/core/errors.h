// Exceptions that tell more than the standard library's.
#pragma once

#include <new>
#include <string>
#include <utility>

namespace mcpi {

// An allocation failed, and the text says what may help. It is derived from std::bad_alloc alone: a
// class with two bases of type std::exception is not caught as std::exception.
class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(std::string text) : text_(std::move(text)) {}
  const char *what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace mcpi

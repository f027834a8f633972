// Exceptions with more information than those of the standard library.
#pragma once

#include <new>
#include <string>
#include <utility>

namespace mcpi {

// Reports that an allocation failed, with a text that says what may help. The only base is
// std::bad_alloc: a class with two bases of type std::exception is not caught as std::exception.
class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(std::string text) : text_(std::move(text)) {}
  const char *what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace mcpi

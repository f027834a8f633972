// Arithmetic whose results are tested: a number out of range is a failure that the caller reports,
// not an exception that ends a program which traps floating-point exceptions.
#pragma once

#include <cfenv>

namespace mcpi {

// Holds floating-point exceptions of this thread while it lives: they neither trap nor leave flags.
class HeldExceptions {
public:
  HeldExceptions() { (void)std::feholdexcept(&before_); }
  HeldExceptions(const HeldExceptions &) = delete;
  HeldExceptions &operator=(const HeldExceptions &) = delete;
  ~HeldExceptions() { (void)std::fesetenv(&before_); }

private:
  std::fenv_t before_;
};

} // namespace mcpi

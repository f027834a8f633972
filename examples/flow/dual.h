// This header defines numbers that carry their derivatives. What is computed with them is
// differentiated exactly.
#pragma once

#include <array>
#include <cmath>

namespace flow {

// A value and its derivatives by n variables.
template <int n> struct Dual {
  double value = 0.0;
  std::array<double, n> slope{};

  Dual() = default;
  Dual(double v) : value(v) {} // a constant
  // The variable of this direction, where it has the value v.
  static Dual variable(double v, int direction)
  {
    Dual x(v);
    x.slope[direction] = 1.0;
    return x;
  }
  // A function of this number. f: the function's value, df: its derivative
  Dual chain(double f, double df) const
  {
    Dual x(f);
    for (int i = 0; i < n; ++i) x.slope[i] = df * slope[i];
    return x;
  }

  friend Dual operator+(Dual a, const Dual &b)
  {
    a.value += b.value;
    for (int i = 0; i < n; ++i) a.slope[i] += b.slope[i];
    return a;
  }
  friend Dual operator-(Dual a, const Dual &b)
  {
    a.value -= b.value;
    for (int i = 0; i < n; ++i) a.slope[i] -= b.slope[i];
    return a;
  }
  friend Dual operator*(const Dual &a, const Dual &b)
  {
    Dual x(a.value * b.value);
    for (int i = 0; i < n; ++i) x.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return x;
  }
  friend Dual operator/(const Dual &a, const Dual &b)
  {
    return a * b.chain(1.0 / b.value, -1.0 / (b.value * b.value));
  }
  friend Dual operator-(const Dual &a) { return a.chain(-a.value, -1.0); }
  friend bool operator<(const Dual &a, const Dual &b) { return a.value < b.value; }
};

template <int n> Dual<n> sqrt(const Dual<n> &a)
{
  const double root = std::sqrt(a.value);
  return a.chain(root, 0.5 / root);
}
template <int n> Dual<n> abs(const Dual<n> &a)
{
  return a.value < 0.0 ? -a : a;
}

} // namespace flow

// This header defines numbers that carry their derivatives. What is computed with them is
// differentiated exactly.
#pragma once

#include <array>
#include <cmath>

#include "space.h"

namespace flow {

// A value and its derivatives by n variables.
template <int n> struct Dual {
  double value = 0.0;
  std::array<double, n> slope{};

  Dual() = default;
  FLOW_HD Dual(double v) : value(v) {} // a constant
  // The variable of this direction, where it has the value v.
  FLOW_HD static Dual variable(double v, int direction)
  {
    Dual x(v);
    x.slope[direction] = 1.0;
    return x;
  }
  // A function of this number. f: the function's value, df: its derivative
  FLOW_HD Dual chain(double f, double df) const
  {
    Dual x(f);
    for (int i = 0; i < n; ++i) x.slope[i] = df * slope[i];
    return x;
  }

  FLOW_HD friend Dual operator+(Dual a, const Dual &b)
  {
    a.value += b.value;
    for (int i = 0; i < n; ++i) a.slope[i] += b.slope[i];
    return a;
  }
  FLOW_HD friend Dual operator-(Dual a, const Dual &b)
  {
    a.value -= b.value;
    for (int i = 0; i < n; ++i) a.slope[i] -= b.slope[i];
    return a;
  }
  FLOW_HD friend Dual operator*(const Dual &a, const Dual &b)
  {
    Dual x(a.value * b.value);
    for (int i = 0; i < n; ++i) x.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return x;
  }
  FLOW_HD friend Dual operator/(const Dual &a, const Dual &b)
  {
    return a * b.chain(1.0 / b.value, -1.0 / (b.value * b.value));
  }
  FLOW_HD friend Dual operator-(const Dual &a) { return a.chain(-a.value, -1.0); }
  FLOW_HD friend bool operator<(const Dual &a, const Dual &b) { return a.value < b.value; }

  // The same with a constant, whose derivatives take no operations.
  FLOW_HD friend Dual operator+(Dual a, double b)
  {
    a.value += b;
    return a;
  }
  FLOW_HD friend Dual operator+(double a, const Dual &b) { return b + a; }
  FLOW_HD friend Dual operator-(Dual a, double b)
  {
    a.value -= b;
    return a;
  }
  FLOW_HD friend Dual operator-(double a, const Dual &b) { return b.chain(a - b.value, -1.0); }
  FLOW_HD friend Dual operator*(const Dual &a, double b) { return a.chain(a.value * b, b); }
  FLOW_HD friend Dual operator*(double a, const Dual &b) { return b * a; }
  FLOW_HD friend Dual operator/(const Dual &a, double b) { return a.chain(a.value / b, 1.0 / b); }
  FLOW_HD friend Dual operator/(double a, const Dual &b)
  {
    const double quotient = a / b.value;
    return b.chain(quotient, -quotient / b.value);
  }
};

template <int n> FLOW_HD Dual<n> sqrt(const Dual<n> &a)
{
  const double root = std::sqrt(a.value);
  return a.chain(root, 0.5 / root);
}
template <int n> FLOW_HD Dual<n> abs(const Dual<n> &a)
{
  return a.value < 0.0 ? -a : a;
}

} // namespace flow

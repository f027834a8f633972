// The backends that a program of this folder tests against the reference. Its main() adds them
// before GoogleTest starts.
#pragma once

#include <gtest/gtest.h>

#include <tuple>

#include "support/system.h"

namespace mcpi::test {

struct TestedEngines {
  std::vector<Engine> engines;
  std::vector<int> block_sizes;       // for tests of all block sizes
  std::vector<int> large_block_sizes; // for tests with few rows
  bool host_memory = false;           // the engines work in host memory
};
TestedEngines &tested();
void test_engine(Engine engine, MakeBackend make);

using EngineAndSize = std::tuple<Engine, int>;

class AnyBackend : public testing::TestWithParam<Engine> {
protected:
  static Kind kind(const BackendConfig &config) { return {config, nullptr, GetParam()}; }
};
class AnyBackendAndSize : public testing::TestWithParam<EngineAndSize> {
protected:
  static Engine engine() { return std::get<0>(GetParam()); }
  static int bs() { return std::get<1>(GetParam()); }
};
inline std::string engine_name(const testing::TestParamInfo<Engine> &info)
{
  return name(info.param);
}
inline std::string engine_and_size_name(const testing::TestParamInfo<EngineAndSize> &info)
{
  return std::string(name(std::get<0>(info.param))) + "_" + std::to_string(std::get<1>(info.param));
}

} // namespace mcpi::test

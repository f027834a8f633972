#include "engines.h"

namespace mcpi::test {

TestedEngines &tested()
{
  static TestedEngines all;
  return all;
}

void test_engine(Engine engine, MakeBackend make)
{
  add_engine(engine, make);
  tested().engines.push_back(engine);
}

} // namespace mcpi::test

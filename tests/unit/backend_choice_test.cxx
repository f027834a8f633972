// Tests the messages for users whose GPU the library cannot use.
#include "pc/backend_choice.h"

#include <gtest/gtest.h>

namespace mcpi::test {
namespace {

TEST(BackendChoice, names_the_oldest_gpu_where_one_is_too_old)
{
  const std::string reason = BackendLacksCode(80);
  EXPECT_NE(reason.find("compute capability 8.0"), std::string::npos) << reason;
  EXPECT_NE(reason.find("9.0 (H100) or newer"), std::string::npos) << reason;
}

TEST(BackendChoice, names_the_build_option_where_a_gpu_is_newer)
{
  EXPECT_NE(BackendLacksCode(120).find("12.0: build it with -DCMAKE_CUDA_ARCHITECTURES=120"),
            std::string::npos);
}

TEST(BackendChoice, has_nothing_to_say_where_there_is_code)
{
  EXPECT_EQ(BackendLacksCode(0), "");
}

} // namespace
} // namespace mcpi::test

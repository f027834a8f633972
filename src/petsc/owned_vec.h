// This header declares a Vec that is destroyed after an error, too.
#pragma once

#include <petscvec.h>

namespace mcpi {

class OwnedVec {
public:
  OwnedVec() = default;
  OwnedVec(const OwnedVec &) = delete;
  OwnedVec &operator=(const OwnedVec &) = delete;
  ~OwnedVec() { (void)VecDestroy(&vec_); }
  operator Vec() const { return vec_; }
  Vec *out() { return &vec_; } // for the functions that create it

private:
  Vec vec_ = nullptr;
};

} // namespace mcpi

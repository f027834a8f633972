// This header holds the values of all options. pc/options.def lists the options and their defaults.
#pragma once

#include <petscmat.h>

#include <string>
#include <type_traits>

#include "petscmcpitypes.h"

namespace mcpi {

constexpr PetscInt kMaxSweeps = 1 << 29; // of one application, since an int counts the passes

// How Settings holds an option, whose type in the public interface is Value
template <class Value>
using Held = std::conditional_t<
    std::is_same_v<Value, PetscBool>, bool,
    std::conditional_t<std::is_same_v<Value, MatColoringType>, std::string, Value>>;

struct Settings {
#define OPTION(name, Name, member, effect, Value, preset, allowed, help)                           \
  Held<Value> member = preset;
#include "pc/options.def"
};

// Collective. An error if ranks have different settings. Such ranks would wait for exchanges that
// others never begin.
PetscErrorCode SettingsCheckAgreement(MPI_Comm comm, const Settings &settings);
// Collective. An error if the precisions that were asked for do not go together.
PetscErrorCode SettingsCheckPrecisions(MPI_Comm comm, const Settings &settings);
// Whether the sweeps are those that methods with factors define
bool SuitsFactors(const Settings &settings);
// Collective. An error if the sweeps are not those that the method defines.
PetscErrorCode SettingsCheckMethod(MPI_Comm comm, const Settings &settings);

} // namespace mcpi

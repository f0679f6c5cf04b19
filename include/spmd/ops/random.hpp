// Random numbers, as JAX draws them: random_keys (keys and bits), random_numbers (distributions), random_choice (orders and choices).
#pragma once
#include "random_choice.hpp"

namespace spmd {
/// The namespace by its short name.
namespace rng = random;
}  // namespace spmd

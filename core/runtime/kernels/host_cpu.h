// What this machine's processor is, as far as machine code depends on it.
#pragma once

#include <string>

namespace vitrine::runtime {

// Family, model and feature words: two machines with equal text run the same objects.
std::string host_cpu_identity();

}  // namespace vitrine::runtime

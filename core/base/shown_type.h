// Types of tensors as a session writes them, "f32[8,128]{1,8}cuda:0", and as people read them: the device is
// said only where it is another one than the run's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The device that most tensors are on, "cuda:0"; "" for the CPU.
std::string device_of(const std::vector<std::string_view>& types);

// Without `device`; what lies on the CPU beside it says so: "i64[] cpu". Several types stand behind commas.
std::string type_for(const std::string& recorded, const std::string& device);

}  // namespace vitrine

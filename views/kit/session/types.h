// Types of tensors as a session writes them, "f32[8,128]{1,8}cuda:0", and as people read them: the device is
// said only where it is another one than the run's.
#pragma once

#include <QString>
#include <span>
#include <string>

#include "core/session/rows.h"

namespace vitrine::kit {

// The device that most tensors are on, "cuda:0"; "" for the CPU.
std::string deviceOf(std::span<const session::NodeRow> nodes);

// Without `device`; what lies on the CPU beside it says so: "i64[] cpu". Several types stand behind commas.
std::string typeFor(const std::string& recorded, const std::string& device);

// "f32[8,3]{24,8}@16" -> "f32[8,3]", for places too narrow for both.
QString withoutStrides(const QString& type);

}  // namespace vitrine::kit

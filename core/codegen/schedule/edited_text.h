// Kernels whose text a person has written anew: the text that was generated names the kernel, in every
// program that has it.
#pragma once

#include <map>
#include <string>

#include "core/codegen/schedule/program.h"

namespace vitrine::codegen {

using EditedTexts = std::map<std::string, std::string>;  // generated -> edited

// Gives the kernel the edited text of its own, if there is one. What its lines compute stays known where they
// are as they were: above and below what was changed; of the changed lines, what began or ended within them.
void use_edited_text(Kernel& kernel, const EditedTexts& edited);

}  // namespace vitrine::codegen

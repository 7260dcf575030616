// What a program has put in the place of PyTorch's own functions and methods (`torch.Tensor.relu = mine`). A
// graph holds PyTorch's operators, not the way to them through Tensor's and the modules' attributes, so that
// no guard of its own would notice. A look costs one comparison a module or class here while nothing was
// replaced.
#pragma once

#include <cstdint>
#include <string>

struct _object;

namespace vitrine::torch_api {

// Keeps what is there now as PyTorch's own. Once, with the GIL; all below needs it.
void keep_own_functions();

// A number for what is replaced now, 0: nothing is. What was put back has the number that it had.
int32_t replaced();
// "torch.Tensor.relu", of what is replaced under a number; "" for 0 or a number long past.
std::string replaced_name(int32_t number);
// The same, of what operators and subscripts go to (`__add__`); "" when nothing of that kind is replaced.
std::string replaced_operator();

// Whether Tensor's attribute `name` is replaced now, or one that Tensor did not have.
bool is_replaced_in_tensor(const std::string& name);
// Whether this function is one that PyTorch came with.
bool is_own_function(_object* function);
// Whether a function of PyTorch's own may come, by the names in its code, to something that is replaced now.
bool may_call_replaced(_object* function);

}  // namespace vitrine::torch_api

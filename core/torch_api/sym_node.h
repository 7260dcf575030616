// An ir::Sym as PyTorch's SymInt, and back. PyTorch's composite operators compute with it as with any SymInt:
// what they make of a size stays an expression, and what they ask of it becomes a guard of its table.
#pragma once

#include <optional>

#include "core/ir/sym.h"

struct _object;

namespace vitrine::torch_api {

// A torch.SymInt, or an int where the value is a constant. The table must outlive it. New reference; nullptr:
// a Python error is set.
_object* sym_int(const ir::Sym& value);
// A tuple of them.
_object* sym_tuple(std::span<const ir::Sym> values);
// What a SymInt of sym_int() or of PyTorch's arithmetic with one stands for; an int is a constant. Nothing:
// any other object.
std::optional<ir::Sym> sym_of(_object* value);
// What a SymFloat of PyTorch's arithmetic with SymInts is: its sizes are fixed. Nothing: any other object.
std::optional<double> fixed_real_of(_object* value);
// Whether it is a torch.SymInt, SymBool or SymFloat.
bool is_symbolic_number(_object* value);

}  // namespace vitrine::torch_api

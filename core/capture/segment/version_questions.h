// Whether the program that runs asks tensors for their versions.
#pragma once

namespace vitrine::capture {

// A function of the user's that is on this thread's stack, or one defined in it, names an attribute called
// `_version`. How often autograd's engine adds to a gradient in place shows there, and is the engine's alone
// to say: such a program has its gradients from it. Needs the GIL.
bool asks_for_versions();

}  // namespace vitrine::capture

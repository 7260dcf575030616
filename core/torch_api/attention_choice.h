// Which ways of computing attention PyTorch may choose from, as one value: what
// torch.nn.attention.sdpa_kernel changes on entering and leaving. The choice itself is made when a call is
// recorded.
#pragma once

namespace vitrine::torch_api {

struct AttentionChoice {
  bool cudnn = true, flash = true, mem_efficient = true, math = true, overrideable = true;
  bool operator==(const AttentionChoice&) const = default;
};

AttentionChoice attention_choice();
void set_attention_choice(const AttentionChoice& wanted);

}  // namespace vitrine::torch_api

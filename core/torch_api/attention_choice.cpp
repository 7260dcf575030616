#include "core/torch_api/attention_choice.h"

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

AttentionChoice attention_choice() {
  const Symbols& s = api().symbols;
  void* context = s.context();
  return {s.sdp_cudnn(context), s.sdp_flash(context), s.sdp_mem_efficient(context), s.sdp_math(context),
          s.sdp_overrideable(context)};
}

void set_attention_choice(const AttentionChoice& wanted) {
  const Symbols& s = api().symbols;
  void* context = s.context();
  s.sdp_set_cudnn(context, wanted.cudnn);
  s.sdp_set_flash(context, wanted.flash);
  s.sdp_set_mem_efficient(context, wanted.mem_efficient);
  s.sdp_set_math(context, wanted.math);
  s.sdp_set_overrideable(context, wanted.overrideable);
}

}  // namespace vitrine::torch_api

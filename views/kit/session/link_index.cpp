#include "views/kit/session/link_index.h"

#include <algorithm>

namespace vitrine::kit {

LinkIndex::Side LinkIndex::side(std::vector<std::pair<Id, Id>>& links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  Side out;
  out.to.reserve(links.size());
  for (size_t i = 0; i < links.size();) {
    const Id from = links[i].first;
    out.from.push_back(from);
    out.begin.push_back(static_cast<uint32_t>(out.to.size()));
    for (; i < links.size() && links[i].first == from; ++i) out.to.push_back(links[i].second);
  }
  out.begin.push_back(static_cast<uint32_t>(out.to.size()));
  return out;
}

LinkIndex::LinkIndex(std::vector<std::pair<Id, Id>> links) {
  std::erase_if(links,
                [](const auto& link) { return !link.first || !link.second || link.first == link.second; });
  forward_ = side(links);
  for (auto& link : links) std::swap(link.first, link.second);
  backward_ = side(links);
}

}  // namespace vitrine::kit

#include "views/kit/session/link_index.h"

#include <algorithm>
#include <future>

namespace vitrine::kit {

LinkIndex::Side LinkIndex::side(std::vector<std::pair<Id, Id>>& links) {
  if (!std::is_sorted(links.begin(), links.end())) std::sort(links.begin(), links.end());
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
  auto turned = links;
  for (auto& link : turned) std::swap(link.first, link.second);
  auto other = std::async(std::launch::async, [&turned] { return side(turned); });
  forward_ = side(links);
  backward_ = other.get();
}

}  // namespace vitrine::kit

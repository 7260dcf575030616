#include "core/session/roofs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "core/session/speed_up.h"

namespace vitrine::session {

namespace {

constexpr double kSlack = 1.02;  // a kernel is not faster than a ceiling by less than clocks differ
constexpr double kPartly = 2;    // caches: so much data are found in part

double a_second(double amount, double ns) {
  const double rate = ns > 0 ? amount / ns * 1e9 : 0;
  return std::isfinite(rate) ? rate : 0;
}

void raise(Roof& roof, double rate, Id kernel) {
  if (roof.measured <= 0 || rate <= roof.measured * kSlack || rate <= roof.rate) return;
  roof.rate = rate;
  roof.raised_by = kernel;
}

void measure(Roof& roof, double rate) {
  if (std::isfinite(rate)) roof.rate = roof.measured = std::max(roof.measured, rate);
}

std::string percent(double part) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), part < 0.01 ? "%.1f %%" : "%.0f %%", part * 100);
  return out.data();
}

}  // namespace

std::string product_type(const KernelRow& kernel, const std::string& node_type) {
  if (kernel.kind == "generated" || node_type.empty()) return "f32";
  return node_type.substr(0, node_type.find('['));
}

Roofs::Roofs(const std::vector<CeilingRow>& ceilings, const std::vector<Worked>& kernels) {
  for (const CeilingRow& row : ceilings) {
    if (row.kind == "copy") measure(copy_, row.rate);
    if (row.kind == "product") measure(products_[row.type], row.rate);
    cache_ = std::max(cache_, static_cast<double>(row.cache_bytes));
  }
  for (const Worked& work : kernels) {
    if (cache_ > 0 && in_cache(work) == InCache::No) raise(copy_, a_second(work.bytes, work.ns), work.kernel);
    if (const auto it = products_.find(work.type); it != products_.end())
      raise(it->second, a_second(work.flops, work.ns), work.kernel);
  }
}

Roof Roofs::product(const std::string& type) const {
  const auto it = products_.find(type);
  return it == products_.end() ? Roof{} : it->second;
}

InCache Roofs::in_cache(const Worked& work) const {
  if (cache_ <= 0 || work.bytes_at_once <= 0) return InCache::No;
  return work.bytes_at_once <= cache_             ? InCache::Yes
         : work.bytes_at_once <= kPartly * cache_ ? InCache::Partly
                                                  : InCache::No;
}

double Roofs::of_copy(const Worked& work) const {
  return copy_.rate > 0 ? a_second(work.bytes, work.ns) / copy_.rate : 0;
}

double Roofs::of_product(const Worked& work) const {
  const double rate = product(work.type).rate;
  return rate > 0 ? a_second(work.flops, work.ns) / rate : 0;
}

double Roofs::of_roof(const Worked& work) const {
  const double copy = of_copy(work), product = of_product(work);
  if (product > copy) return product;
  const InCache where = in_cache(work);
  return where == InCache::Yes || (where == InCache::Partly && copy > 1) ? 0 : copy;
}

std::string Roofs::cache_words(InCache where) {
  return where == InCache::Yes ? "in cache" : where == InCache::Partly ? "partly in cache" : "";
}

std::string Roofs::copy_words(const Worked& work) const {
  const double part = of_copy(work);
  if (part <= 0) return "–";
  const std::string where = cache_words(in_cache(work));
  if (where.empty()) return part > 1 && cache_ <= 0 ? "above copy" : percent(part);
  return part > 1 ? where : percent(part) + ", " + where;
}

std::string Roofs::too_low(const std::map<Id, std::string>& labels) const {
  std::string out;
  auto say = [&](const std::string& name, const Roof& roof) {
    const auto by = labels.find(roof.raised_by);
    if (!roof.raised_by || by == labels.end()) return;
    out += (out.empty() ? "" : " ") + name + " was measured too low: " + by->second + " reaches " +
           ratio_words(roof.rate / roof.measured) + " of it and stands for it.";
  };
  say("copy", copy_);
  for (const auto& [type, roof] : products_) say(type + " product", roof);
  return out;
}

std::string ceiling_words(const CeilingRow& row) {
  std::string out = row.note;
  if (row.source == "measured" && row.times > 0)
    return out + "; the best of " + std::to_string(row.times) +
           (row.times == 1 ? " measurement" : " measurements");
  if (row.source != "kept") return out;
  const std::time_t when = row.measured_unix_ns / 1'000'000'000;
  std::tm day{};
  std::array<char, 16> text{};
  if (!gmtime_r(&when, &day) || !std::strftime(text.data(), text.size(), "%Y-%m-%d", &day)) return out;
  return out + "; kept from " + text.data() + (row.machine.empty() ? "" : ", " + row.machine);
}

}  // namespace vitrine::session

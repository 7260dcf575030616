#include "views/capture/replay.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "views/capture/trace_rows.h"
#include "views/kit/session/symbolic_types.h"

namespace vitrine::views {

using namespace session;

namespace {

// Values an operation takes: fixed + each * argument. Operations that only put, or only take, need no row:
// their change of depth says it.
struct Takes {
  std::string_view op;
  int fixed, each;
};
constexpr std::array<Takes, 26> kTakes = {{
    {"LOAD_ATTR", 1, 0},      {"LOAD_METHOD", 1, 0},  {"CALL", 2, 1},          {"CALL_FUNCTION", 1, 1},
    {"CALL_METHOD", 2, 1},    {"BINARY_OP", 2, 0},    {"BINARY_SUBSCR", 2, 0}, {"BINARY_SLICE", 3, 0},
    {"COMPARE_OP", 2, 0},     {"IS_OP", 2, 0},        {"CONTAINS_OP", 2, 0},   {"UNARY_NEGATIVE", 1, 0},
    {"UNARY_POSITIVE", 1, 0}, {"UNARY_NOT", 1, 0},    {"UNARY_INVERT", 1, 0},  {"UNPACK_SEQUENCE", 1, 0},
    {"UNPACK_EX", 1, 0},      {"BUILD_TUPLE", 0, 1},  {"BUILD_LIST", 0, 1},    {"BUILD_SET", 0, 1},
    {"BUILD_STRING", 0, 1},   {"BUILD_MAP", 0, 2},    {"BUILD_SLICE", 0, 1},   {"FORMAT_VALUE", 1, 0},
    {"GET_ITER", 1, 0},       {"RETURN_VALUE", 1, 0},
}};

struct StepEffect {
  std::optional<int> stack;  // depth before, when only that was recorded
  QString top;
  int pop = 0;
  std::vector<StackValue> push;
  std::vector<std::pair<QString, StackValue>> store;
};

constexpr int kDeepestStack = 1 << 14;  // what a file claims beyond that is none of Python's

StackValue value_of(const QJsonObject& o) {
  StackValue v;
  v.text = o["text"].toString();
  v.type = o["type"].toString();
  v.source = o["source"].toString();
  v.kind = o["kind"].toString();
  return v;
}

StepEffect parse(const std::string& text) {
  StepEffect out;
  const QJsonObject o = QJsonDocument::fromJson(QByteArray::fromStdString(text)).object();
  if (o.contains("stack")) {
    out.stack = std::clamp(o["stack"].toInt(), 0, kDeepestStack);
    out.top = o["top"].toString();
    return out;
  }
  out.pop = std::clamp(o["pop"].toInt(), 0, kDeepestStack);
  for (const QJsonValue& v : o["push"].toArray()) out.push.push_back(value_of(v.toObject()));
  const QJsonObject store = o["store"].toObject();
  for (auto it = store.begin(); it != store.end(); ++it)
    out.store.emplace_back(it.key(), value_of(it.value().toObject()));
  return out;
}

struct ReplayedFrame {
  FrameAt at;
  std::vector<StackValue> stack;
  std::vector<std::pair<QString, StackValue>> locals;
};

class Replay {
 public:
  Replay(const kit::SessionData& data, Id compilation) : data_(data), steps_(data.steps.of(compilation)) {
    if (const GraphRow* graph = data.lastGraph(compilation, "captured")) {
      for (const NodeRow& node : data.nodes.of(graph->id)) nodes_[node.name] = &node;
      symbolic_ = kit::symbolicTypes(data, graph->id);
    }
  }

  StackState run(int index) {
    for (int i = 0; i <= index && i < static_cast<int>(steps_.size()); ++i) step(static_cast<size_t>(i));
    for (auto f = frames_.rbegin(); f != frames_.rend(); ++f) out_.frames.push_back(f->at);
    if (!frames_.empty()) out_.locals = frames_.back().locals;
    return std::move(out_);
  }

 private:
  void step(size_t i) {
    const StepRow& row = steps_[i];
    const InstructionRow* ins = data_.instructions.find(row.instruction);
    if (!ins) return;
    ReplayedFrame& frame = enter(row, *ins);
    frame.at.instruction = ins->id;
    StepEffect effect = parse(row.effect);
    if (effect.stack) derive(i, *ins, frame, effect);
    apply(row, *ins, frame, effect);
  }

  ReplayedFrame& enter(const StepRow& row, const InstructionRow& ins) {
    const size_t depth = static_cast<size_t>(std::max<int64_t>(row.depth, 0)) + 1;
    if (frames_.size() > depth) leave(depth);
    const bool another = frames_.size() == depth && frames_.back().at.code != ins.code;
    if (another) frames_.pop_back();
    while (frames_.size() < depth) frames_.push_back({{ins.code, 0}, {}, {}});
    return frames_.back();
  }

  // What an inlined frame returned is what its call put on the caller's stack.
  void leave(size_t depth) {
    const StackValue returned = frames_[depth].stack.empty() ? returned_ : frames_[depth].stack.back();
    frames_.resize(depth);
    auto& stack = frames_.back().stack;
    if (!stack.empty() && returned.family != kit::NodeFamily::None && stack.back().text == returned.type)
      stack.back() = returned;
  }

  // The next step of the same frame, nullptr when this one leaves it.
  const StepRow* next_of(size_t i) const {
    for (size_t k = i + 1; k < steps_.size() && steps_[k].depth >= steps_[i].depth; ++k)
      if (steps_[k].depth == steps_[i].depth) return &steps_[k];
    return nullptr;
  }

  // From {"stack", "top"} before this step and before the next one to what this one took and put.
  void derive(size_t i, const InstructionRow& ins, ReplayedFrame& frame, StepEffect& effect) const {
    const int before = *effect.stack;
    frame.stack.resize(static_cast<size_t>(before));
    if (before && !effect.top.isEmpty() && !frame.stack.back().from) frame.stack.back().text = effect.top;
    const StepRow* next = next_of(i);
    int after = before - (ins.op == "RETURN_VALUE");
    QString top;
    if (next) {
      const StepEffect follows = parse(next->effect);
      after = follows.stack.value_or(before);
      top = follows.top;
    }
    auto takes = std::find_if(kTakes.begin(), kTakes.end(), [&](const Takes& t) { return t.op == ins.op; });
    const auto operand = static_cast<int>(std::clamp<int64_t>(ins.arg, 0, kDeepestStack));
    effect.pop = takes != kTakes.end() ? takes->fixed + takes->each * operand : std::max(0, before - after);
    effect.pop = std::clamp(effect.pop, std::max(0, before - after), before);
    for (int k = before - effect.pop; k < after; ++k) effect.push.push_back({});
    if (!effect.push.empty()) effect.push.back().text = top;
    if (ins.op == "STORE_FAST" && before)
      effect.store.emplace_back(QString::fromStdString(ins.argrepr), frame.stack.back());
  }

  void apply(const StepRow& row, const InstructionRow& ins, ReplayedFrame& frame, const StepEffect& effect) {
    out_.known = !row.effect.empty();
    out_.before = static_cast<int>(frame.stack.size());
    out_.taken.clear();
    out_.put.clear();
    for (int k = 0; k < effect.pop && !frame.stack.empty(); ++k) {
      out_.taken.push_back(frame.stack.back());
      frame.stack.pop_back();
    }
    if (ins.op == "RETURN_VALUE" && !out_.taken.empty()) returned_ = out_.taken.front();
    out_.below.assign(frame.stack.rbegin(), frame.stack.rend());
    for (size_t k = 0; k < effect.push.size(); ++k)
      frame.stack.push_back(known(effect.push[k], row, ins, k + 1 == effect.push.size()));
    out_.put.assign(frame.stack.rbegin(),
                    frame.stack.rbegin() + static_cast<std::ptrdiff_t>(effect.push.size()));
    out_.after = static_cast<int>(frame.stack.size());
    for (const auto& [name, value] : effect.store) store(frame, name, known(value, row, ins, false));
    if (ins.op == "LOAD_FAST" && !out_.put.empty()) {
      const QString name = QString::fromStdString(ins.argrepr);
      const bool has = std::any_of(frame.locals.begin(), frame.locals.end(),
                                   [&](const auto& local) { return local.first == name; });
      if (!has) frame.locals.emplace_back(name, out_.put.front());
    }
  }

  static void store(ReplayedFrame& frame, const QString& name, const StackValue& value) {
    for (auto& local : frame.locals)
      if (local.first == name) {
        local.second = value;
        return;
      }
    frame.locals.emplace_back(name, value);
  }

  // A function, a module or a number may have the name of a node; older recordings have no kinds.
  static bool may_be_node(const StackValue& value) {
    return value.kind.isEmpty() || value.kind == QLatin1String("tensor") ||
           value.kind == QLatin1String("cell");
  }

  // Gives the value its node: the one this step made, else the captured node of that name.
  StackValue known(StackValue value, const StepRow& row, const InstructionRow& ins, bool top) const {
    const NodeRow* node = top ? data_.nodes.find(entity_of(data_, row)) : nullptr;
    if (auto named = nodes_.find(value.text.toStdString());
        !node && named != nodes_.end() && may_be_node(value))
      node = named->second;
    if (node) {
      value.text = QString::fromStdString(node->name);
      value.type = kit::typeText(data_, *node, symbolic_);
      value.kind = QStringLiteral("tensor");
      value.family = kit::familyOf(node->family);
      value.from = node->id;
    } else if (!value.from) {
      value.from = ins.id;
    }
    return value;
  }

  const kit::SessionData& data_;
  std::span<const StepRow> steps_;
  std::map<std::string, const NodeRow*> nodes_;
  kit::NodeTypes symbolic_;
  std::vector<ReplayedFrame> frames_;
  StackValue returned_;
  StackState out_;
};

}  // namespace

StackState stack_after(const kit::SessionData& data, Id compilation, int index) {
  return Replay(data, compilation).run(index);
}

}  // namespace vitrine::views

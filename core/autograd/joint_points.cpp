// The results of a joint graph from which others are computed: which these are, and the backward graph cut
// there.
#include <algorithm>
#include <unordered_set>

#include "core/autograd/joint_maker.h"
#include "core/autograd/shared_saves.h"
#include "core/torch_api/fake_tensor.h"

namespace vitrine::torch_api {

// Results of the region, and views of these or of inputs that the program gives.
void JointMaker::find_points(const std::vector<PyObject*>& results, const ViewReplay& views,
                             JointParts& parts) {
  parts.points.clear();
  if (parts.outputs.empty()) return;
  std::unordered_set<ir::NodeId> outside;
  for (const ir::Node& n : parts.leading) outside.insert(n.id);
  for (size_t t = 0; t < parts.outputs.size(); ++t) {
    PyObject* o = parts.outputs[t];
    parts.points.push_back({o, recording_.at(recording_.find(o)).aten, static_cast<int>(t), -1});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    PyObject* o = results[i];
    const bool own = std::find(views.region.begin(), views.region.end(), o) != views.region.end();
    const ir::Ref value = recording_.at(recording_.find(o)).aten;
    if (own || views.data[i] >= 0 || !requires_grad(o) || outside.contains(value.node)) continue;
    parts.points.push_back({o, value, -1, static_cast<int>(i)});
  }
}

void JointMaker::note_points(PyObject* borrowed, Joint& out, JointParts& parts) {
  PyObject *wholes = PyTuple_GetItem(borrowed, 1), *passed = PyTuple_GetItem(borrowed, 2),
           *sharing = PyTuple_GetItem(borrowed, 3);
  for (size_t i = 0; i < parts.points.size(); ++i) {
    PyObject* whole = PyList_GetItem(wholes, static_cast<Py_ssize_t>(i));
    if (const int index = whole == Py_None ? -1 : recording_.find(whole); index >= 0)
      parts.points[i].whole = recording_.at(index).aten.node;
  }
  parts.passed.clear();
  for (Py_ssize_t t = 0; t < PyList_GET_SIZE(passed); ++t)
    parts.passed.push_back(numbers_of(PyList_GetItem(passed, t)));
  out.conflicts.clear();
  for (Py_ssize_t t = 0; t < PyList_GET_SIZE(sharing); ++t)
    out.conflicts.push_back(numbers_of(PyList_GetItem(sharing, t)));
}

void keep_points(JointParts& parts, const std::vector<bool>& keep) {
  std::vector<int> number(keep.size(), -1);
  std::vector<JointParts::Point> kept;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    number[i] = static_cast<int>(kept.size());
    kept.push_back(parts.points[i]);
  }
  parts.points = std::move(kept);
  for (std::vector<int>& passed : parts.passed) {
    for (int& point : passed) point = number.at(static_cast<size_t>(point));
    std::erase(passed, -1);
  }
}

void keep_passed(JointParts& parts) {
  std::vector<bool> passed(parts.points.size());
  for (const std::vector<int>& by : parts.passed)
    for (int point : by) passed.at(static_cast<size_t>(point)) = true;
  keep_points(parts, passed);
}

Status JointMaker::cut(Joint& out, JointParts& parts) {
  std::vector<bool> named;
  for (const JointParts::Point& point : parts.points) named.push_back(point.whole >= 0);
  keep_points(parts, named);
  std::vector<ir::NodeId> ends;
  for (const ir::Node& n : parts.tangents) ends.push_back(n.id);
  std::vector<autodiff::CutPoint> points;
  for (const JointParts::Point& point : parts.points) points.push_back({point.whole, point.tangent});
  auto made = autodiff::cut_at(out.halves.backward, ends, points, parts.passed, out.borrowed.empty());
  if (!made) return made.error();
  out.cut = made.take();
  if (!out.cut.backward) return {};
  std::vector<int> results;  // of the region, by tangent
  for (size_t i = 0; i < out.results.size(); ++i)
    if (out.results[i].requires_grad) results.push_back(static_cast<int>(i));
  for (const JointParts::Point& point : parts.points) {
    out.before.push_back(point.before);
    out.points.push_back(point.tangent < 0 ? out.views->slot_of(static_cast<size_t>(point.result))
                                           : static_cast<int>(parts.leading.size()) +
                                                 results.at(static_cast<size_t>(point.tangent)));
  }
  return {};
}

}  // namespace vitrine::torch_api

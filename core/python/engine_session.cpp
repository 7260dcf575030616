// The session as the package's Python files write it: runs, timings, checks and timelines beside what the
// engine records itself; and the profile of compiled calls.
#include <Python.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/session/reader.h"
#include "core/session/recording_place.h"
#include "core/session/rows.h"
#include "core/session/speed_up.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

using capture::SessionRecording;

SessionRecording* recording_or_error() {
  SessionRecording* r = engine().live_recording();
  if (!r) PyErr_SetString(PyExc_RuntimeError, "no session is open in this process");
  return r;
}

// dict[name] -> the field of a row; a field without an entry keeps its default. false: a Python error is set.
bool read_field(PyObject* value, int64_t& field) {
  const long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred()) return false;
  field = number;
  return true;
}
bool read_field(PyObject* value, double& field) {
  const double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) return false;
  field = number;
  return true;
}
bool read_field(PyObject* value, std::string& field) {
  if (!PyUnicode_Check(value)) return PyErr_SetString(PyExc_TypeError, "text is needed"), false;
  field = capture::text_of(value);
  return true;
}
bool read_field(PyObject* value, SharedText& field) {
  if (!PyUnicode_Check(value)) return PyErr_SetString(PyExc_TypeError, "text is needed"), false;
  field = capture::text_of(value);
  return true;
}
bool read_field(PyObject* value, session::BlobRef& field) {
  if (!PyUnicode_Check(value)) return read_field(value, field.row);
  field = engine().recording->writer().blob(capture::text_of(value));
  return true;
}
bool read_field(PyObject*, session::Bytes&) {
  PyErr_SetString(PyExc_TypeError, "use session_blob");
  return false;
}

template <class Row>
bool read_row(PyObject* dict, Row& row) {
  bool ok = true;
  Py_ssize_t known = 0;
  Row::each(row, [&](const char* name, auto& field) {
    PyObject* value = ok ? PyDict_GetItemString(dict, name) : nullptr;
    if (!value) return;
    ++known;
    ok = read_field(value, field);
  });
  if (ok && known != PyDict_GET_SIZE(dict)) {
    PyErr_Format(PyExc_KeyError, "the table %s has no such column: %R", Row::table, dict);
    ok = false;
  }
  return ok;
}

// The kind of entity whose rows stand in a table, or None.
Kind kind_of_table(std::string_view table) {
#define X(name, text, word) \
  if (table == text) return Kind::name;
  VITRINE_ENTITY_KINDS(X)
#undef X
  return Kind::None;
}

// The id of the row that was written; a row without an id gets one. -1: a Python error is set.
template <class Row>
int64_t put_row(SessionRecording& recording, PyObject* dict) {
  Row row;
  if (!read_row(dict, row)) return -1;
  int64_t id = 0;
  if constexpr (requires { row.id; }) {
    if (row.id == 0 && kind_of_table(Row::table) != Kind::None)
      row.id = recording.writer().next(kind_of_table(Row::table));
    id = row.id;
  }
  recording.writer().put(row);
  return id;
}

int64_t put(SessionRecording& recording, std::string_view table, PyObject* dict) {
#define X(Row) \
  if (table == session::Row::table) return put_row<session::Row>(recording, dict);
  VITRINE_TABLES(X)
#undef X
  PyErr_Format(PyExc_KeyError, "there is no table %s", std::string(table).c_str());
  return -1;
}

// Runs `act`, which returns a new reference; a broken session becomes a RuntimeError.
template <class F>
PyObject* guarded(F&& act) {
  try {
    return act();
  } catch (const std::exception& error) {
    return PyErr_Format(PyExc_RuntimeError, "the session cannot be written: %s", error.what());
  }
}

// session_open(path) -> None, or what stood in the way and in a second line what to do
PyObject* session_open(PyObject*, PyObject* path) {
  if (!PyUnicode_Check(path)) return PyErr_Format(PyExc_TypeError, "a path is needed");
  auto opened = SessionRecording::open(capture::text_of(path));
  if (!opened)
    return PyUnicode_FromFormat("%s\n%s", opened.error().what.c_str(), opened.error().hint.c_str());
  engine().recording = opened.take();
  engine().cancelled = false;
  Py_RETURN_NONE;
}

PyObject* session_close(PyObject*, PyObject* status) {
  SessionRecording* recording = engine().live_recording();
  const std::string text = capture::text_of(status);
  return guarded([&]() -> PyObject* {
    if (recording) recording->close(text);
    if (recording) engine().recording.reset();
    Py_RETURN_NONE;
  });
}

// A traced script's session, between the end of Python and that of the process.
struct LastWords {
  std::unique_ptr<session::Writer> writer;
  session::RunRow run;
  int64_t ended_ns = 0;
  std::string target;
};

// Only here the status is known that the script ended the process with: the interpreter keeps no SystemExit.
// Nothing of Python is left.
void close_with_status(int status, void* words) {
  const std::unique_ptr<LastWords> last(static_cast<LastWords*>(words));
  try {
    session::Writer& writer = *last->writer;
    if (status && last->run.status == "finished") {
      last->run.status = "failed";
      session::MessageRow said;
      said.id = writer.next(Kind::Message), said.run = last->run.id, said.time_ns = last->ended_ns;
      said.severity = "error", said.origin = "user";
      said.text = "Your script ended with exit status " + std::to_string(status) + ".";
      said.hint = "What it compiled until then is recorded.";
      writer.put(said);
    }
    writer.put(last->run);
    writer.finish(last->run.status);
    last->writer.reset();
    if (const auto settled = session::settle_recording(last->target); !settled)
      std::fprintf(stderr, "vitrine: %s\n", settled.error().what.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vitrine: the session cannot be written: %s\n", error.what());
  }
}

// session_close_at_exit(run, target): the process is about to end; `run` is as it is if its exit status is 0
PyObject* session_close_at_exit(PyObject*, PyObject* args) {
  PyObject *run = nullptr, *target = nullptr;
  if (!PyArg_ParseTuple(args, "O!U:session_close_at_exit", &PyDict_Type, &run, &target)) return nullptr;
  SessionRecording* recording = recording_or_error();
  if (!recording) return nullptr;
  return guarded([&]() -> PyObject* {
    auto last = std::make_unique<LastWords>();
    if (!read_row(run, last->run)) return nullptr;
    last->target = capture::text_of(target);
    last->ended_ns = recording->now();
    last->writer = recording->leave();
    engine().recording.reset();
    on_exit(close_with_status, last.release());
    Py_RETURN_NONE;
  });
}

PyObject* session_put(PyObject*, PyObject* args) {
  const char* table = nullptr;
  PyObject* row = nullptr;
  if (!PyArg_ParseTuple(args, "sO!:session_put", &table, &PyDict_Type, &row)) return nullptr;
  SessionRecording* recording = recording_or_error();
  if (!recording) return nullptr;
  return guarded([&]() -> PyObject* {
    const int64_t id = put(*recording, table, row);
    return id < 0 ? nullptr : PyLong_FromLongLong(id);
  });
}

// session_run(row) -> the id of a new run, to which everything recorded from now on belongs
PyObject* session_run(PyObject*, PyObject* row) {
  SessionRecording* recording = recording_or_error();
  if (!recording) return nullptr;
  if (!PyDict_Check(row)) return PyErr_Format(PyExc_TypeError, "a dict is needed");
  return guarded([&]() -> PyObject* {
    const int64_t id = put(*recording, "run", row);
    if (id < 0) return nullptr;
    recording->set_run(id);
    recording->commit();
    return PyLong_FromLongLong(id);
  });
}

PyObject* session_commit(PyObject*, PyObject*) {
  SessionRecording* recording = recording_or_error();
  if (!recording) return nullptr;
  return guarded([&]() -> PyObject* {
    recording->commit();
    Py_RETURN_NONE;
  });
}

PyObject* session_blob(PyObject*, PyObject* args) {
  Py_buffer bytes;
  if (!PyArg_ParseTuple(args, "s*:session_blob", &bytes)) return nullptr;
  SessionRecording* recording = recording_or_error();
  PyObject* out = !recording ? nullptr : guarded([&] {
    return PyLong_FromLongLong(
        recording->writer().blob({static_cast<const char*>(bytes.buf), static_cast<size_t>(bytes.len)}).row);
  });
  PyBuffer_Release(&bytes);
  return out;
}

// session_path() -> where the open session is being written
PyObject* session_path(PyObject*, PyObject*) {
  SessionRecording* recording = recording_or_error();
  return recording ? PyUnicode_DecodeFSDefault(recording->writer().path().c_str()) : nullptr;
}

// session_texts(path, [blob, ...]) -> [text, ...]
PyObject* session_texts(PyObject*, PyObject* args) {
  const char* path = nullptr;
  PyObject* blobs = nullptr;
  if (!PyArg_ParseTuple(args, "sO!:session_texts", &path, &PyList_Type, &blobs)) return nullptr;
  auto session = session::Reader::open(path);
  if (!session) return PyErr_Format(PyExc_OSError, "%s", session.error().what.c_str());
  PyObject* out = PyList_New(0);
  for (Py_ssize_t i = 0; out && i < PyList_GET_SIZE(blobs); ++i) {
    const std::string text = session.value()->text({PyLong_AsLongLong(PyList_GET_ITEM(blobs, i))});
    const torch_api::PyRef item(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!item || PyList_Append(out, item.get()) != 0) Py_CLEAR(out);
  }
  return out;
}

PyObject* session_compilations(PyObject*, PyObject*) {
  SessionRecording* recording = recording_or_error();
  return recording ? PyLong_FromLongLong(recording->writer().made(Kind::Compilation)) : nullptr;
}

const char* word_of(session::Settled::What what) {
  using What = session::Settled::What;
  switch (what) {
    case What::nothing:
      return "nothing";
    case What::recording:
      return "recording";
    case What::replaced:
      return "replaced";
    case What::kept:
      return "kept";
    case What::dropped:
      return "dropped";
  }
  return "";
}

// session_settle(target) -> (what became of a recording beside it, where it is, how it ended)
PyObject* session_settle(PyObject*, PyObject* target) {
  if (!PyUnicode_Check(target)) return PyErr_Format(PyExc_TypeError, "a path is needed");
  auto settled = session::settle_recording(capture::text_of(target));
  if (!settled)
    return PyErr_Format(PyExc_OSError, "%s\n%s", settled.error().what.c_str(), settled.error().where.c_str());
  const session::Settled& s = settled.value();
  return Py_BuildValue("(sNs)", word_of(s.what), PyUnicode_DecodeFSDefault(s.path.c_str()), s.status.c_str());
}

PyObject* session_started(PyObject*, PyObject*) {
  SessionRecording* recording = recording_or_error();
  return recording ? PyLong_FromLongLong(recording->started_ns()) : nullptr;
}

PyObject* session_name(PyObject*, PyObject* args) {
  const char *text = nullptr, *family = nullptr;
  if (!PyArg_ParseTuple(args, "ss:session_name", &text, &family)) return nullptr;
  SessionRecording* recording = recording_or_error();
  if (!recording) return nullptr;
  return guarded([&] { return PyLong_FromLongLong(recording->writer().name(text, family)); });
}

PyObject* profile(PyObject*, PyObject* calls) {
  const int64_t wanted = PyLong_AsLongLong(calls);
  if (wanted == -1 && PyErr_Occurred()) return nullptr;
  engine().start_profile(wanted);
  Py_RETURN_NONE;
}

// before_calls(function, eager): function(number) is called before each outermost call of a compiled callable
PyObject* before_calls(PyObject*, PyObject* args) {
  PyObject* function = nullptr;
  int eager = 0;
  if (!PyArg_ParseTuple(args, "Op:before_calls", &function, &eager)) return nullptr;
  engine().before_call = function == Py_None ? capture::PyRef() : capture::PyRef::borrow(function);
  engine().eager = eager != 0;
  Py_RETURN_NONE;
}

// profile_take() -> [(compilation, launch ordinal, start, end), ...] on CLOCK_MONOTONIC; empties the profile
PyObject* profile_take(PyObject*, PyObject*) {
  std::vector<capture::ProfileEntry> entries = std::move(engine().profile);
  engine().profile.clear();
  PyObject* out = PyList_New(static_cast<Py_ssize_t>(entries.size()));
  for (size_t i = 0; out && i < entries.size(); ++i) {
    const capture::ProfileEntry& e = entries[i];
    PyObject* row =
        Py_BuildValue("(LiLL)", static_cast<long long>(e.compilation), e.time.launch,
                      static_cast<long long>(e.time.start_ns), static_cast<long long>(e.time.end_ns));
    if (!row) Py_CLEAR(out);
    if (row) PyList_SET_ITEM(out, static_cast<Py_ssize_t>(i), row);
  }
  return out;
}

// A list of numbers; false: a Python error is set.
bool read_times(PyObject* list, std::vector<double>& out) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    out.push_back(PyFloat_AsDouble(PyList_GET_ITEM(list, i)));
    if (PyErr_Occurred()) return false;
  }
  return true;
}

PyObject* speed_up(PyObject*, PyObject* args) {
  PyObject *eager = nullptr, *compiled = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!:speed_up", &PyList_Type, &eager, &PyList_Type, &compiled)) return nullptr;
  std::vector<double> theirs, ours;
  if (!read_times(eager, theirs) || !read_times(compiled, ours)) return nullptr;
  const session::SpeedUp s = session::speed_up(theirs, ours);
  return Py_BuildValue("{s:d,s:d,s:d,s:L,s:O,s:s,s:s}", "ratio", s.ratio, "low", s.low, "high", s.high,
                       "calls", static_cast<long long>(s.calls), "known", s.known() ? Py_True : Py_False,
                       "words", s.words().c_str(), "interval", s.interval().c_str());
}

PyObject* is_user_file(PyObject*, PyObject* path) {
  if (!PyUnicode_Check(path)) return PyErr_Format(PyExc_TypeError, "a path is needed");
  return PyBool_FromLong(capture::is_user_file(capture::text_of(path)));
}

PyMethodDef kMethods[] = {
    {"is_user_file", torch_api::border<is_user_file>, METH_O,
     "is_user_file(path): neither a library's nor Vitrine's own."},
    {"session_open", torch_api::border<session_open>, METH_O,
     "session_open(path): records into a new session; None, or the error."},
    {"session_close", torch_api::border<session_close>, METH_O,
     "session_close(status): finished | failed | cancelled."},
    {"session_close_at_exit", torch_api::border<session_close_at_exit>, METH_VARARGS,
     "session_close_at_exit(run, target): closes it once the exit status of the process is known."},
    {"session_put", torch_api::border<session_put>, METH_VARARGS,
     "session_put(table, row) -> id: writes or replaces a row."},
    {"session_run", torch_api::border<session_run>, METH_O, "session_run(row) -> id: begins a run."},
    {"session_commit", torch_api::border<session_commit>, METH_NOARGS,
     "Makes what was written so far visible to readers."},
    {"session_path", torch_api::border<session_path>, METH_NOARGS, "Where the session is being written."},
    {"session_texts", torch_api::border<session_texts>, METH_VARARGS,
     "session_texts(path, blobs) -> texts of rows of the table blob."},
    {"session_compilations", torch_api::border<session_compilations>, METH_NOARGS,
     "How many compilations were recorded."},
    {"session_settle", torch_api::border<session_settle>, METH_O,
     "session_settle(target) -> (what, path, status): moves a finished recording to where it belongs."},
    {"session_started", torch_api::border<session_started>, METH_NOARGS,
     "When the session was opened, in ns on CLOCK_MONOTONIC."},
    {"session_blob", torch_api::border<session_blob>, METH_VARARGS,
     "session_blob(bytes) -> row of the table blob."},
    {"session_name", torch_api::border<session_name>, METH_VARARGS,
     "session_name(text, family) -> row of the table name."},
    {"profile", torch_api::border<profile>, METH_O,
     "profile(calls): of each compilation the next so many calls note when each launch begins and ends; 0: "
     "none."},
    {"speed_up", torch_api::border<speed_up>, METH_VARARGS,
     "speed_up(eager, compiled) -> dict of ratio, low, high, calls, known, words, interval; lists of ns, the "
     "i-th of both from one round."},
    {"before_calls", torch_api::border<before_calls>, METH_VARARGS,
     "before_calls(function, eager): function(number) is called before each call of a compiled callable that "
     "is in no other one's; eager: they run as eager does. None: nobody is told."},
    {"profile_take", torch_api::border<profile_take>, METH_NOARGS, "What was noted since the last call."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_session(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
  PyModule_AddIntConstant(module, "CALLS_RECORDED", capture::kCallsRecorded);
}

}  // namespace vitrine::python

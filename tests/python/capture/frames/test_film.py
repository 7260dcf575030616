"""The film of a capture: replaying what each step took, put and stored rebuilds stack and locals; events name what came."""

import json

import torch
import vitrine

from tests.python.support.recorded import recorded


def helper(a, b):
    return torch.relu(a) + b


def program(x, scale):
    total = 0
    for i in range(2):
        total = total + helper(x * scale, i)
    return total, x.shape[0]


def film(folder, function, *args):
    vitrine.reset()
    with recorded(folder) as session, torch.no_grad():
        vitrine.compile(function)(*args)
    compilation = session.rows("compilation")[0]["id"]
    rows = session.rows("step", compilation=compilation)
    rows.sort(key=lambda r: r["ordinal"])
    for row in rows:
        row["effect"] = json.loads(row["effect"]) if row["effect"] else None
        instruction = session.rows("instruction", id=row["instruction"])
        row["op"] = instruction[0]["op"] if instruction else ""
    return rows, session


def replay(rows):
    """Stacks by depth; a step never takes more than there is, and a returning frame leaves nothing behind."""
    stacks, stored = {}, {}
    for row in rows:
        depth, effect = row["depth"], row["effect"]
        if not effect:
            continue
        stack = stacks.setdefault(depth, [])
        assert len(stack) >= effect["pop"], row
        del stack[len(stack) - effect["pop"] :]
        stack.extend(value["text"] for value in effect["push"])
        stored.setdefault(depth, {}).update({name: v["text"] for name, v in effect["store"].items()})
        if row["event"] == "return":
            assert not stack, row
    return stacks, stored


def test_replay_rebuilds_stack_and_locals(tmp_path):
    rows, _ = film(tmp_path, program, torch.ones(4), 2.0)
    stacks, stored = replay(rows)
    assert not any(stacks.values())
    assert stored[0]["i"] == "1"
    assert stored[0]["x"] == "x"
    assert stored[0]["total"] == "add_3"
    assert stored[1]["b"] == "1"
    assert {row["depth"] for row in rows} == {0, 1}


def test_events_name_nodes_guards_and_calls(tmp_path):
    rows, session = film(tmp_path, program, torch.ones(4), 2.0)
    nodes = {r["id"]: r["name"] for r in session.rows("node")}
    guards = {r["id"]: (r["source"], r["expected"]) for r in session.rows("guard")}
    made = [r for r in rows if r["event"] == "node"]
    assert [r["text"] for r in made] == ["mul", "relu", "add", "add_1", "mul_1", "relu_1", "add_2", "add_3"]
    assert [nodes[r["entity"]] for r in made] == [r["text"] for r in made]
    inlined = [r for r in rows if r["event"] == "inline"]
    assert [r["text"] for r in inlined] == ["helper", "helper"]
    assert all(r["op"] == "CALL" for r in inlined)
    guarded = [r for r in rows if r["event"] == "guard"]
    assert guarded and all(r["text"] in guards[r["entity"]] for r in guarded)
    returned = [r for r in rows if r["event"] == "return"]
    assert [r["text"] for r in returned] == ["add", "add_2", "tuple of 2"]
    assert any(r["event"] == "const" and r["text"] == "4" for r in rows)


def test_last_step_of_a_broken_capture_is_the_break(tmp_path):
    def function(x):
        y = x * 2
        print("here")
        return y

    rows, session = film(tmp_path, function, torch.ones(3))
    assert rows[-1]["event"] == "break"
    assert rows[-1]["op"] == "CALL"
    assert "print" in rows[-1]["text"]
    assert rows[-1]["entity"] == session.rows("graph_break")[0]["id"]
    tensor = [v for r in rows if r["effect"] for v in r["effect"]["push"] if v["text"] == "mul"]
    assert tensor and tensor[0]["kind"] == "tensor" and tensor[0]["type"] == "f32[3]"

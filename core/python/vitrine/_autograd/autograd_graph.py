"""Walks over PyTorch's autograd graph of a recording's fake tensors. An edge is a node and which of its outputs."""


def edge_of(tensor):
    return tensor.grad_fn, tensor.output_nr


def edges_behind(output, stops=()):
    """Where a backward pass from the output comes by, itself included; not what is behind a stop."""
    start = edge_of(output)
    seen, todo = set(), [start]
    while todo:
        edge = todo.pop()
        if edge[0] is None or edge in seen:
            continue
        seen.add(edge)
        if edge == start or edge not in stops:
            todo.extend(edge[0].next_functions)
    return seen


def nodes_behind(outputs):
    """The nodes that a backward pass from the outputs reaches, each once, as it is walked."""
    seen, todo = set(), [output.grad_fn for output in outputs]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        todo.extend(following for following, _ in node.next_functions)


def outputs_behind(outputs, inputs):
    """By input, the outputs (their places) from which autograd's graph leads to it. What has a gradient has one."""
    if len(outputs) == 1:
        return [[0] for _ in inputs]
    found = {edge_of(t) if t.grad_fn is not None else t: [] for t in inputs}
    for place, output in enumerate(outputs):
        for edge in edges_behind(output):
            behind = found.get(getattr(edge[0], "variable", edge))
            if behind is not None:
                behind.append(place)
    return list(found.values())


def points_passed(outputs, points):
    """By output, the points (their places) between it and the inputs."""
    ends = {edge_of(point): place for place, point in enumerate(points)}
    if not ends:
        return [[] for _ in outputs]
    behind = [edges_behind(output) - {edge_of(output)} for output in outputs]
    return [sorted(ends[edge] for edge in edges if edge in ends) for edges in behind]


def is_used_up(node):
    """Whether a backward pass uses the node up: what saves nothing may be gone through again."""
    of_pytorch = type(node).__name__ == node.name()  # of the others, CopySlices among them, it is not known
    return not of_pytorch or any(name.startswith("_raw_saved_") for name in dir(node))


def outputs_sharing(outputs, points):
    """By output, the outputs (itself too) a backward pass from which uses up the same operators, as far as the points."""
    stops = {edge_of(point) for point in points}
    nodes = []
    for output in outputs:
        own = [edge for edge in edges_behind(output, stops) if edge == edge_of(output) or edge not in stops]
        nodes.append({node for node in {node for node, _ in own} if not hasattr(node, "variable") and is_used_up(node)})
    return [[place for place, other in enumerate(nodes) if own & other] for own in nodes]


def written_after_saving(outputs):
    """Whether a backward pass from the outputs raises, because what an operator has saved was written to since; what it keeps
    only to know its size counts."""
    for node in nodes_behind(outputs):
        try:
            for name in dir(node):
                if name.startswith("_saved_"):
                    getattr(node, name)
        except RuntimeError as error:
            if "modified by an inplace operation" in str(error):
                return True
    return False

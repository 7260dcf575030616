"""Texts of a tensor's number: a check's message that nobody reads costs no graph break; what is read or leaves is eager's."""

import pytest
import torch

import vitrine


def check(holds, message):
    if not torch.compiler.is_compiling() and not holds:
        raise ValueError(message)


def checked(x):
    count = (x > 0).sum()
    check(count >= 0, f"{count} of {x.shape[0]}, {count:>4d}: {f'<{count}>'}")
    return x * count


def test_a_message_that_nobody_reads_is_no_break():
    x = torch.randn(6)
    said = vitrine.explain(checked)(x)
    assert said.graph_count == 1 and not said.graph_break_reasons
    torch.testing.assert_close(vitrine.compile(checked, fullgraph=True)(x), checked(x))


def leaves(x):
    total = x.sum()
    text = f"{total}, {total:.3f}, {total > 1}, {'plain'}"
    x += 1  # the text is of what it was
    return text, {"text": text}, x.sum()


def alone(x):
    return f"{x[0]}"


def looked_at(x):
    text = f"{x[0]:.1f}"
    return len(text), text == "1.0", text + "!", {text: 1}, text.upper(), bool(text), isinstance(text, str), text is None


def nested(x):
    text = f"{x.argmax()}"
    return "".join([text, "!"]), f"{text}{text}", f"{text!r}", "{}".format(text)


def kept(x):
    message = f"{x[0]}"

    def later():
        return message

    return later()


@pytest.mark.parametrize("function", [leaves, alone, looked_at, nested, kept])
@pytest.mark.parametrize("start", [torch.tensor([1.0, 2.5]), torch.tensor([3, 4]), torch.tensor([1.5, 2.5]).double()])
def test_texts_are_eagers(function, start):
    compiled = vitrine.compile(function)
    for offset in (0, 1, 2):
        assert repr(compiled(start + offset)) == repr(function(start + offset))


def test_texts_that_are_printed_come_in_order(capsys):
    def prints(x):
        print(f"first {x[0]}")
        y = x * 2
        print(f"then {y[0]:.2f}", f"{y[1]}")
        return y

    found = []
    for function in (prints, vitrine.compile(prints)):
        function(torch.tensor([1.0, 2.0]))
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


@pytest.mark.parametrize("form", ["d", "c", "q"])
def test_a_format_that_does_not_fit_raises_eagers_error(form):
    def written(x):
        return f"{x[0]:{form}}"

    for function in (written, vitrine.compile(written)):
        with pytest.raises((ValueError, OverflowError)):
            function(torch.tensor([-1.5, 2.0]) if form == "d" else torch.tensor([-1, 2]))


def test_of_a_tensor_that_requires_grad():
    x = torch.tensor([1.5, 2.0], requires_grad=True)
    written = lambda x: f"{x.sum()} {x.sum().detach():.1f} {x}"  # noqa: E731
    assert vitrine.compile(written)(x) == written(x)

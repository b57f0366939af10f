"""The statements of random programs, as templates.

``{x}`` and ``{y}`` stand for values, ``{r}`` and ``{s}`` for real ones, ``{t}`` for memory of the program's own that
may be written, ``{m}`` for truth values, ``{i}`` for whole numbers, ``{v}`` for the new name, ``{c}`` for a
constant, ``{ax}`` for an axis and ``{n}`` for a small number. A template whose shapes do not fit is drawn again.
"""

ELEMENTWISE = """
np.sin({x})
np.cos({x})
np.tanh({r})
np.exp(-{x} * {x})
np.exp({x} * {c})
np.log(np.abs({x}) + 0.5)
np.sqrt({r} * {r} + 0.3)
np.abs({x})
np.sign({r}) * {s}
np.arctan2({r}, {s} + {c})
np.hypot({r}, {s})
np.logaddexp({r}, {s})
np.expm1({r})
np.log1p({r} ** 2)
np.sinh({r} * 0.5)
np.sinc({r})
np.square({x})
np.cbrt({r} + 2.5)
np.maximum({r}, {s})
np.minimum({r}, {c})
np.fmax({r}, {s})
np.clip({r}, -0.5, {c})
np.clip({r}, {s} - 1.0, 0.9)
np.mod({r}, 0.7)
np.floor({r}) * {s}
np.where({m}, {x}, {y})
np.where({r} > {c}, {x}, 0.0)
np.copysign({r}, {s})
np.real({x})
np.imag({x})
np.conj({x})
np.angle({x})
{x} + 1j * {r}
{x} + {y}
{x} - {y}
{x} * {y}
{x} / (1.5 + {r} ** 2)
-{x}
{x} * {c}
{c} - {x}
{x} ** 3
{x} ** 2.0
(np.abs({x}) + 0.2) ** {r}
{c} ** {x}
np.float64(0.3) * {x}
np.heaviside({r}, 0.5) + {x}
np.nan_to_num({x})
np.interp({r}, np.array([-2.0, -0.4, 0.3, 2.0]), np.array([0.1, 1.0, -0.5, 0.3]))
np.where({i} > 0, {x}, {y} * {i})
{x} * {i}
{x} * {m}
np.piecewise({r}, [{r} < 0.1], [np.sin, np.tanh])
np.select([{r} < 0.1, {r} < 0.8], [{x}, {y}], {c})
""".strip().splitlines()

REDUCTIONS = """
np.sum({x})
np.sum({x}, axis={ax})
np.sum({x}, axis={ax}, keepdims=True)
np.sum({x}, where={m})
np.mean({x}, axis={ax})
np.prod({x}, axis={ax})
np.max({r}, axis={ax})
np.min({r}, axis={ax}, keepdims=True)
np.var({x}, axis={ax})
np.std({r}, axis={ax}) + 0.1
np.median({r}, axis={ax})
np.quantile({r}, 0.3, axis={ax})
np.ptp({r}, axis={ax})
np.cumsum({x}, axis={ax})
np.cumprod({x}, axis={ax})
np.diff({x}, axis={ax})
np.average({x}, axis={ax})
np.average({x}, weights=np.abs({r}) + 0.2)
np.linalg.norm({x} + 0.2)
np.linalg.norm({r} + 0.2, axis={ax})
np.nansum({x}, axis={ax})
np.add.reduce({x}, axis={ax})
np.multiply.accumulate({x}, axis={ax})
np.maximum.accumulate({r}, axis={ax})
np.add.reduceat({x}, [0, 1], axis={ax})
np.add.outer({x}, {y})
np.trapezoid({x}, axis={ax})
np.gradient({x}, axis={ax})
np.count_nonzero({m}) * {x}
{x}.sum(axis={ax})
{x}.mean()
{r}.max()
{x}.prod(axis={ax})
{x}.var(axis={ax}, ddof=1)
""".strip().splitlines()

SHAPES = """
{x}.T
{x}.T * 1.0
{x}[::-1]
{x}[0]
{x}[-1:]
{x}[..., ::2]
{x}[..., ::-1]
{x}[1:]
{x}[None]
{x}[..., None]
{x}[:, 0]
{x}[:, ::-1]
{x}.reshape(-1)
{x}.ravel()
{x}.ravel(order="F")
{x}.reshape(-1, order="F")
{x}.reshape(2, -1)
{x}.flatten()
{x}.copy()
{x}.copy(order="F")
np.copy({x})
{x}.real
{x}.imag
np.swapaxes({x}, 0, -1)
np.moveaxis({x}, 0, -1)
np.transpose({x})
np.squeeze({x})
np.expand_dims({x}, {ax})
np.broadcast_to({x}, (2, *{x}.shape))
np.atleast_1d({x})
np.atleast_2d({x})
np.diagonal({x})
np.diag({x})
np.triu({x})
np.tril({x}, -1)
np.trace({x})
np.flip({x}, axis={ax})
np.roll({x}, 1, axis={ax})
np.rot90({x})
np.repeat({x}, 2, axis={ax})
np.tile({x}, 2)
np.concatenate([{x}, {y}], axis={ax})
np.stack([{x}, {y}], axis={ax})
np.stack([{x}, 2.0 * {x}])
np.hstack([{x}, {y}])
np.append({x}, {y})
np.split({x}, [1], axis={ax})[0]
np.array_split({x}, 2, axis={ax})[1]
np.pad({x}, 1)
np.pad({x}, 1, mode="edge")
np.pad({r}, (1, 0), mode="reflect")
np.delete({x}, 0, axis={ax})
np.insert({x}, 1, {y}, axis={ax})
np.sort({r}, axis={ax})
np.partition({r}, 1, axis={ax})
np.take({x}, [0, -1, 0], axis={ax})
np.take({x}, {i}, mode="wrap")
np.take_along_axis({x}, np.argsort({r}, axis={ax}), axis={ax})
np.compress([True, False], {x}, axis={ax})
np.choose(np.abs({i}) % 2, [{x}, {y}])
np.lib.stride_tricks.sliding_window_view({x}, 2, axis={ax})
{x}[np.array([0, -1, 0])]
{x}[{i} % len({x})]
{x}[[0, 0], ::-1]
{x}[np.array([[0], [-1]]), np.array([0, -1])]
{x}[np.arange(len({x})) % 2 == 0]
{x}[..., [0, -1]]
np.zeros_like({x})
np.ones_like({x}) * {y}
np.full_like({x}, {c})
np.array([{c}, {r}.mean()])
np.column_stack([{x}, {y}])
np.meshgrid({r}, {s})[0]
np.unwrap({r})
{x}.astype(complex)
np.asfortranarray({x}) * {y}
np.ascontiguousarray({x}) + 0.0
""".strip().splitlines()

PRODUCTS = """
{x} @ {y}
{x} @ {x}.T
np.dot({x}, {y})
np.outer({x}, {y})
np.inner({x}, {y})
np.vdot({x}, {y})
np.kron({x}, {y})
np.tensordot({x}, {y}, 1)
np.cross({x}, {y})
np.einsum("ij,ij->i", {x}, {y})
np.einsum("ij->ji", {x})
np.einsum("ii->i", {x})
np.einsum("i,j->ij", {x}, {y})
np.einsum("...i,...i", {x}, {y})
np.einsum("ij,jk", {x}, {y})
np.matmul({x}, {y})
np.convolve({x}, {y})
np.correlate({x}, {y}, "full")
np.linalg.inv({x} + 4.0 * np.eye(len({x})))
np.linalg.solve({x} + 4.0 * np.eye(len({x})), {y})
np.linalg.det({x} + 2.0 * np.eye(len({x})))
np.linalg.slogdet({x} + 3.0 * np.eye(len({x})))[1]
np.linalg.cholesky({r} @ {r}.T + 2.0 * np.eye(len({r})))
np.linalg.eigvalsh({r} + {r}.T + np.diag(np.arange(len({r})) * 3.0))
np.linalg.matrix_power({x}, 3)
np.linalg.multi_dot([{x}, {y}, {x}])
np.vander({x}, 3)
np.polyval([{c}, 0.5, 1.0], {x})
np.fft.fft({x})
np.fft.ifft({x}, axis={ax})
np.fft.rfft({r})
np.fft.irfft({x}, 4)
np.fft.fft2({x})
np.fft.fftshift({x})
np.vecdot({x}, {y})
""".strip().splitlines()

MASKS = """
{r} > {c}
{r} > {s}
({r} > 0.1) & ({s} < 0.9)
np.abs({x}) < 0.8
np.isfinite({x}) & ({r} < 0.7)
~{m}
np.argsort({r}, axis={ax})
np.argmax({r}, axis={ax})
np.sign({r}).astype(int)
np.floor({r} * 3.0).astype(int)
np.arange({x}.size)
{i} % 2
{m}.astype(int)
""".strip().splitlines()

WRITES = """
{t}[0] = {x}
{t}[...] = {x}
{t}[-1:] += {x}
{t}[..., ::2] *= {c}
{t}[..., 0] = {x}
{t}[:, 0] -= {x}
{t}[::-1] = {t} * {c}
{t}[1:] = {t}[:-1]
{t}[1:] += {t}[:-1] * {c}
{t}.T[...] += {x}
{t}.T[0] = {x}
{t}.reshape(-1)[0] = {r}.mean()
{t}.ravel()[-1:] *= {c}
{t}.flat[1] = {c}
{t}.real[...] = {r}
{t}.imag *= {c}
{t} += {x}
{t} *= {x}
{t} -= {c}
{t} /= 1.5 + {r} ** 2
{t} **= 2
{t}[{m}] = {c}
{t}[{m}] *= {c}
{t}[{r} > 0.3] += {x}
{t}[np.array([0, -1])] = {x}
{t}[[0, 0]] += {x}
{t}[{i} % len({t})] = {x}
np.add.at({t}, [0, 0], {x})
np.multiply({t}, {x}, out={t})
np.add({x}, {y}, out={t})
np.sin({x}, out={t})
np.add({t}, {x}, out={t}, where={m})
np.exp({r} * 0.3, out={t}, where={m})
np.matmul({x}, {y}, out={t})
np.sum({x}, axis={ax}, out={t})
np.copyto({t}, {x})
np.copyto({t}, {x} * 1.0, where={m})
np.putmask({t}, {m}, {x})
np.put({t}, [0, -1], {x})
np.place({t}, {m}, [{c}, 0.5])
np.fill_diagonal({t}, {c})
np.put_along_axis({t}, np.argsort({r}, axis={ax}), {x}, axis={ax})
{t}.sort(axis={ax})
{t}.fill({r}.mean())
{t}[0], {t}[-1] = {t}[-1] * 1.0, {t}[0] * 1.0
""".strip().splitlines()

BLOCKS = [
    "{v} = {x} * 1.0",
    "{v} = np.array({x})",
    "{v} = {x}.copy()",
    "if np.sum({r}) > {c}:\n    {v} = {x} * {c}\nelse:\n    {v} = np.sin({x})",
    "if {r}.mean() > {s}.mean():\n    {t}[0] = {x}\nelse:\n    {t} *= {c}",
    "{v} = {x} * 1.0\nfor j in range({n}):\n    {v} = np.tanh({v} + j * {r}.mean())",
    "{v} = {x}\nfor j in range({n}):\n    {v} = {v} * {c} + {y} * j",
    "{v} = {r} * 2.0\nwhile np.max(np.abs({v})) > 0.7:\n    {v} = {v} * 0.6",
    "for j in range(len({t})):\n    {t}[j] = {t}[j - 1] * {c} + {x}",
    "for j in range(1, len({t})):\n    {t}[j] += np.sin({t}[j - 1])",
    "{v} = np.stack([row * {c} for row in {x}])",
    "{v} = sum(np.tanh(row) for row in {r})",
    "{v} = {x} * 1.0\nfor j in range({n}):\n    {v} *= {y}\n    {v} += {c}",
    "{v} = np.zeros_like({x})\nfor j in range(len({v})):\n    {v}[j] = {x}[-j] * (j + 1)",
    "{v} = {t}[::-1]\n{v} *= {c}",
    "{v} = {t}.T\n{v}[0] = {x}",
    "{v} = {t}.reshape(-1)\n{v} += {r}.mean()",
    "{v} = {t}[1:]\n{t} *= {c}\n{v} += {x}",
]

FAMILIES = [  # how often, and the templates: expressions get a name of their own
    (6, [f"{{v}} = {line}" for line in ELEMENTWISE]),
    (4, [f"{{v}} = {line}" for line in REDUCTIONS]),
    (5, [f"{{v}} = {line}" for line in SHAPES]),
    (2, [f"{{v}} = {line}" for line in PRODUCTS]),
    (2, [f"{{v}} = {line}" for line in MASKS]),
    (5, WRITES),
    (3, BLOCKS),
]

ARGUMENTS = [  # the layouts of leaves
    "draw(2, 3)",
    "draw(3)",
    "draw()",
    "draw(3, 3)",
    "draw(3, 2).T",
    "draw(2, 3).T",
    "draw(2, 3)[::-1]",
    "draw(3)[::-1]",
    "draw(2, 6)[:, ::2]",
    "np.asfortranarray(draw(2, 3))",
    "np.asfortranarray(draw(2, 3, 2))",
    "np.broadcast_to(draw(3), (2, 3))",
    "draw(2, 1)",
    "draw(1, 3)",
    "draw(2, 2)",
    "draw(2, 2, 3)",
    "draw(2, 3) + 1j * draw(2, 3)",
    "draw(3) + 1j * draw(3)",
    "(draw(3, 3) + 1j * draw(3, 3)).T",
    "draw() + 1j * draw()",
]

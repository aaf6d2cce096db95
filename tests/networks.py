"""Small networks in ONNX files, built by hand."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_network(
    path,
    *,
    size=("rows", "columns"),
    channels=3,
    joined=False,
    output_channels=1,
    factor=1.0,
    halved=False,
    output="disparity",
):
    """A network whose output is the mean over the channels of left minus right, times a factor.

    Parameters
    ----------
    path : Path
    size : tuple
        Rows and columns that it takes; names for any.
    channels : int
        Of each image.
    joined : bool
        One input takes both images, one behind the other.
    output_channels : int
        The output holds as many; the last is the first, negated.
    factor : float
    halved : bool
        The output has half of the rows and columns.
    output : str
        What the output is called.
    """
    shape = [1, channels * (2 if joined else 1), *size]
    names = ["pair"] if joined else ["left", "right"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    nodes = []
    constants = [
        helper.make_tensor("factor", TensorProto.FLOAT, [], [factor]),
        helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
    ]
    if joined:
        nodes.append(helper.make_node("Split", ["pair"], ["left", "right"], axis=1, num_outputs=2))
    nodes += [
        helper.make_node("Sub", ["left", "right"], ["apart"]),
        helper.make_node("ReduceMean", ["apart", "axes"], ["mean"], keepdims=1),
        helper.make_node(
            "Mul", ["mean", "factor"], ["coarse" if halved or output_channels > 1 else output]
        ),
    ]
    if output_channels > 1:
        nodes += [
            helper.make_node("Neg", ["coarse"], ["turned"]),
            helper.make_node("Concat", ["coarse", "turned"], [output], axis=1),
        ]
    if halved:
        nodes.append(
            helper.make_node("MaxPool", ["coarse"], [output], kernel_shape=[2, 2], strides=[2, 2])
        )
    made = helper.make_tensor_value_info(
        output, TensorProto.FLOAT, [1, output_channels, None, None]
    )
    graph = helper.make_graph(nodes, "apart", inputs, [made], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    onnx.save(model, str(path))


def external_tensor(location, name="factor"):
    """A tensor of one float32 that lies at the beginning of another file."""
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", str(location)), ("offset", "0"), ("length", "4")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def write_weights(path, factor):
    """Write the number of an `external_tensor`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(np.float32([factor]).tobytes())


def move_weights(path, location):
    """Let a network of `write_network` read its factor from another file."""
    model = onnx.load(str(path), load_external_data=False)
    [place] = [i for i, tensor in enumerate(model.graph.initializer) if tensor.name == "factor"]
    model.graph.initializer[place].CopyFrom(external_tensor(location))
    path.write_bytes(model.SerializeToString())


def _branch(location):
    return helper.make_graph([], "branch", [], [], [external_tensor(location)])


def _add_constant(model, location):
    node = helper.make_node("Constant", [], ["unused"])
    node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(
        external_tensor(location)
    )
    model.graph.node.append(node)


def _add_list_of_tensors(model, location):
    node = helper.make_node("Constant", [], ["unused"])
    node.attribute.add(name="values", type=onnx.AttributeProto.TENSORS).tensors.append(
        external_tensor(location)
    )
    model.graph.node.append(node)


def _add_branches(model, location):
    node = helper.make_node(
        "If", ["left"], ["unused"], else_branch=helper.make_graph([], "empty", [], [])
    )
    node.attribute.append(helper.make_attribute("then_branch", _branch(location)))
    model.graph.node.append(node)


def _add_loop_in_a_loop(model, location):
    inner = helper.make_node("Loop", ["left"], ["unused"], body=_branch(location))
    model.graph.node.append(
        helper.make_node(
            "Loop", ["left"], ["unused"], body=helper.make_graph([inner], "outer", [], [])
        )
    )


def _add_function(model, location):
    node = helper.make_node("Constant", [], ["y"])
    node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(
        external_tensor(location)
    )
    model.functions.append(
        helper.make_function("made", "f", [], ["y"], [node], [helper.make_opsetid("", 18)])
    )


def _add_sparse_values(model, location):
    model.graph.sparse_initializer.add(dims=[4]).values.CopyFrom(external_tensor(location))


def _add_sparse_indices(model, location):
    model.graph.sparse_initializer.add(dims=[4]).indices.CopyFrom(external_tensor(location))


def _add_training(model, location):
    model.training_info.add().algorithm.CopyFrom(_branch(location))


PARTS_WITH_WEIGHTS = {
    "constant": _add_constant,
    "list of tensors": _add_list_of_tensors,
    "branch": _add_branches,
    "loop in a loop": _add_loop_in_a_loop,
    "function": _add_function,
    "sparse values": _add_sparse_values,
    "sparse indices": _add_sparse_indices,
    "training": _add_training,
}
"""Parts of a model, besides its initializers, that may hold tensors: functions that add one in another file."""

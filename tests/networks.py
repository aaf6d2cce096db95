"""Small networks in ONNX files, built by hand."""

import onnx
from onnx import TensorProto, helper


def write_network(
    path, *, size=("rows", "columns"), channels=3, joined=False, output_channels=1, factor=1.0, halved=False, output="disparity"
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
        helper.make_node("Mul", ["mean", "factor"], ["coarse" if halved or output_channels > 1 else output]),
    ]
    if output_channels > 1:
        nodes += [
            helper.make_node("Neg", ["coarse"], ["turned"]),
            helper.make_node("Concat", ["coarse", "turned"], [output], axis=1),
        ]
    if halved:
        nodes.append(helper.make_node("MaxPool", ["coarse"], [output], kernel_shape=[2, 2], strides=[2, 2]))
    made = helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, output_channels, None, None])
    graph = helper.make_graph(nodes, "apart", inputs, [made], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    onnx.save(model, str(path))

"""The fixed texts of the published templates: protocol constants, of which every byte counts.

Sources: the chat templates of Qwen3, Qwen3-VL, Qwen3-Coder and Qwen3.5 to Qwen3.8. A test checks each text's SHA-256.
"""

# ruff: noqa: E501
from __future__ import annotations

from ..formats import IM_END, IM_START

END = f"{IM_END}\n"
SYSTEM = f"{IM_START}system\n"
USER = f"{IM_START}user\n"
ASSISTANT = f"{IM_START}assistant\n"

THINK = "<think>\n"
END_THINK = "\n</think>\n\n"
EMPTY_THINK = "<think>\n\n</think>\n\n"
ASSISTANT_THINK = ASSISTANT + THINK

RESPONSE = "\n<tool_response>\n"
USER_RESPONSE = f"{IM_START}user{RESPONSE}"
END_RESPONSE = "\n</tool_response>"
END_RESPONSES = END_RESPONSE + END

IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"

EFFORT_XHIGH = (
    "Reasoning effort is set to xhigh. Please think carefully through the task, validate key assumptions, consider "
    "plausible alternatives, and prioritize correctness, consistency, and clarity in the final answer."
)
EFFORT_LOW = (
    "Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the conclusion without "
    "unnecessary elaboration."
)

XML_TOOLS_HEAD = "# Tools\n\nYou have access to the following functions:\n\n<tools>"
XML_TOOLS_TAIL = """

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>"""

JSON_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
JSON_TOOLS_TAIL = """
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""

CODER_DEFAULT_SYSTEM = "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks."
CODER_TOOLS_HEAD = "\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>"
CODER_TOOLS_HEAD_LC = "\n\n# Tools\n\nYou have access to the following tools:\n\n<tools>"
CODER_TOOLS_TAIL_LC = """

If you choose to call a tool ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
value_2
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: the tool calling block MUST begin with an opening <tool_call> tag and end with a closing </tool_call> tag.
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>"""

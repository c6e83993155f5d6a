"""Native renderer of Qwen3-VL: JSON calls, contents as lists of text, images and videos."""

from __future__ import annotations

from typing import Any

from .messages import UNDEFINED, Message, contains, field
from .pieces import Framed, Pieces
from .qwen3 import Qwen3Instruct, iterate
from .texts import ASSISTANT, END, IMAGE, USER, VIDEO


class Qwen3VL(Qwen3Instruct):
    """Qwen3-VL Instruct."""

    def texts(self, content: Any) -> str:
        """The text items of a content; anything else in it is dropped."""
        if isinstance(content, str):
            return content
        found = [item for item in iterate(content) if contains(item, "text")]
        return "".join(self.engine.text(field(item, "text")) for item in found)

    def media(self, p: Pieces, content: Any) -> str:
        """The text items of a content with a pad for every image and video."""
        if isinstance(content, str):
            return content
        parts: list[str] = []
        frames: list[tuple[int, int]] = []
        length = 0
        for item in iterate(content):
            if contains(item, "image") or contains(item, "image_url") or field(item, "type") == "image":
                p.images += 1
                text = f"Picture {p.images}: {IMAGE}" if self.add_vision_id else IMAGE
                frames.append((length, length + len(text)))
            elif contains(item, "video") or field(item, "type") == "video":
                p.videos += 1
                text = f"Video {p.videos}: {VIDEO}" if self.add_vision_id else VIDEO
                frames.append((length, length + len(text)))
            elif contains(item, "text"):
                text = self.engine.text(field(item, "text"))
            else:
                continue
            parts.append(text)
            length += len(text)
        return Framed("".join(parts), frames) if frames else "".join(parts)

    def text_of(self, p: Pieces, content: Any) -> str:
        return "" if content is None else self.texts(content)

    def system(self, p: Pieces, frame: str, message: Message, left: bool = False) -> None:
        p.put(frame, self.texts(message.get("content", UNDEFINED)))

    def plain(self, p: Pieces, role: str, message: Message) -> None:
        if role == "user":
            p.put(USER, self.media(p, message.get("content", UNDEFINED)))
            p.put(END, "")

    def tool(self, p: Pieces, header: str, message: Message) -> None:
        p.put(header, self.media(p, message.get("content", UNDEFINED)))

    def assistant(self, p: Pieces, message: Message, current: bool, final: bool) -> None:
        content = message.get("content", UNDEFINED)
        p.put(ASSISTANT, self.texts(content))
        p.put(self.calls(p, message, bool(content)) + END, "")

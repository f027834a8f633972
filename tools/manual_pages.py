"""Manual pages in PETSc's form: read from a source, written as Markdown and as man pages.

A page is a comment that begins with /*@, /*MC or /*E. Its first paragraph is "NAME - title". A line
that ends in a colon begins a section. Lists begin with +, . or - in the first column.
"""

import re
import textwrap

PAGE = re.compile(r"^/\*(@C?|MC|E)\n(.*?)^(?:@|M|E)\*/\n(.*?)(?=[{;]|^/\*|\Z)", re.DOTALL | re.MULTILINE)
SECTION = re.compile(r"^ *([A-Z][A-Za-z ]*?)s?: *(.*)$")
ITEM = re.compile(r"^[+.-]\s")
COLLECTIVE = ("Not Collective", "Logically Collective", "Collective")


class Page:
    """One manual page"""

    def __init__(self, kind, text, after):
        self.text = text
        paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
        title = " ".join(paragraphs[0].split())
        self.name, self.title = title.split(" - ", 1)
        self.synopsis = " ".join(after.split()) if kind.startswith("@") else ""
        self.sections = []  # (name, lines)
        for paragraph in paragraphs[1:]:
            self.add(paragraph)

    def add(self, paragraph):
        """A paragraph belongs to the section before it, or begins one."""
        lines = paragraph.rstrip().split("\n")
        see = lines[0].startswith(".seealso:")
        found = SECTION.match(lines[0].replace(".seealso:", "See also:"))
        if paragraph.strip() in COLLECTIVE:
            self.sections.append(("Collective", [paragraph.strip()]))
        elif found and (see or found[1] == "Level" or not found[2]):
            rest = ([found[2]] if found[2] else []) + lines[1:]
            self.sections.append((found[1], rest))
        elif self.sections:
            self.sections[-1][1].extend(["", *lines])

    def lines(self, section):
        return [line for name, part in self.sections if name == section for line in part]

    def paragraphs(self, section):
        return paragraphs_of(self.lines(section))

    def items(self, section):
        return items_of(self.lines(section))


def read_pages(text):
    return [Page(*found) for found in PAGE.findall(text)]


def paragraphs_of(lines):
    text = "\n".join(line for line in lines)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def is_list(lines):
    return any(ITEM.match(line) for line in lines)


def items_of(lines):
    """(name, text) of a list's items; the text is empty where there is no ' - '"""
    items = []
    for line in lines:
        if ITEM.match(line):
            items.append(line[1:].strip())
        elif items and line.strip():
            items[-1] += " " + line.strip()
    pairs = [re.split(r"\s+- ", item.removeprefix("* - "), maxsplit=1) for item in items]
    return [(pair[0], pair[1] if len(pair) > 1 else "") for pair in pairs]


def code(name):
    return name if name.startswith("`") or " " in name and not name.startswith("-") else f"`{name}`"


def plural(name, lines):
    return name + "s" if len(items_of(lines)) > 1 or name == "Note" else name


def wrap(text, indent=""):
    """Lines of at most 100 columns. None begins with the mark of a list."""
    text = re.sub(r" ([+-]) ", "\0\\1\0", text)
    lines = textwrap.wrap(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def linked(text, pages):
    """See also, with links to pages of this file"""

    def link(found):
        name = found[1].removesuffix("()")
        return f"[`{found[1]}`](#{name.lower()})" if name in pages else found[0]

    return re.sub(r"`([^`]+)`", link, text)


def section_lines(name, lines, pages):
    """One section as Markdown"""
    if name in ("Collective", "Level", "See also"):
        text = linked(" ".join(paragraphs_of(lines)), pages)
        return ["", *wrap(text if name == "Collective" else f"{name}: {text}")]
    out = ["", f"**{plural(name, lines)}**"]
    if is_list(lines):
        out.append("")
        for key, text in items_of(lines):
            out += wrap(f"- {code(key)}" + (f": {text}" if text else ""), "  ")
        return out
    for paragraph in paragraphs_of(lines):
        out += ["", *wrap(paragraph)]
    return out


def to_markdown(page, pages):
    """Lines of the section of a page"""
    out = [f"## {page.name}", "", *wrap(page.title[0].upper() + page.title[1:] + ".")]
    if page.synopsis:
        out += ["", "    #include <petscmcpi.h>", f"    {page.synopsis}"]
    for name, lines in page.sections:
        out += section_lines(name, lines, pages)
    return out


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def to_man(page):
    """The man page, section 3"""
    out = [f'.TH {page.name} 3 "" "petsc-mcpi" "petsc-mcpi"', ".SH NAME"]
    out.append(f"{page.name} \\- {troff(page.title)}")
    if page.synopsis:
        out += [".SH SYNOPSIS", ".nf", "#include <petscmcpi.h>", "", troff(page.synopsis), ".fi"]
    for name, lines in page.sections:
        heading = "COLLECTIVENESS" if name == "Collective" else plural(name, lines).upper()
        out.append(f".SH {heading}")
        if is_list(lines):
            for key, text in items_of(lines):
                out += [".TP", troff(code(key)), troff(text)]
        else:
            out += "\n.PP\n".join(troff(text) for text in paragraphs_of(lines)).split("\n")
    return "\n".join(out) + "\n"

"""Words that the meter counts: vague names, verbs of docstrings, and marker words."""

from __future__ import annotations

import re
from itertools import chain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VAGUE_WORDS = _words(
    """
    alike alone anew anybody apart asked chosen found given gone had held here its kept
    known lacking least made mine most named nobody none nothing one ones others own put
    said same shown some somebody spelled such taken them there these thing things those
    told wanted what where which who whoever whose
    """
)
"""Pronouns, participles and adverbs. As a name, such a word hides which value it is."""

PREPOSITIONS = _words("about at beside besides by into of under without")
"""Words that are vague at the beginning of a name: `at_value`, but not `value_at`."""

FILLERS = _words(
    """
    a all an arg args array content contents data dict element elements entries entry info
    it item items list lists map mapping my new now obj object objects out part parts res
    result results set stuff temp the things this tmp tuple val value values var vars x y z
    """
)
"""Nouns without information. A vague word with such a noun remains vague."""

VERBS = _words(
    """
    abort accept access accumulate add adjust align allocate allow answer append apply
    approximate archive arrange ask assemble assert assign associate attach attempt
    authenticate average await begin bind blend block blur break build bundle cache
    calculate calibrate call cancel capture carry cast catch change check choose clamp
    clean clear clip clone close coerce collapse collect colour combine commit compare
    compile complete compose compress compute concatenate configure confirm connect
    consider construct consume continue contract control convert convolve copy correct
    count cover create crop cross customize cut deactivate debug decide declare decode
    decorate decrease deduce define delay delegate delete demand demonstrate denoise
    deprecate derive describe deserialize detach detect determine dilate disable discard
    disconnect dispatch display distribute divide do download drain draw drop dump
    duplicate edit embed emit empty enable encapsulate encode encrypt end enforce
    enhance enqueue ensure enter enumerate equalize erase erode escape establish
    estimate evaluate examine exchange exclude execute exercise exit expand expect
    explain export expose express extend extract factor fail feed fetch fill filter
    finalize find finish fire fit fix flag flatten flip flush focus follow forbid force
    forget format forward free freeze fuse gather generate get give go group grow
    guarantee guess guide handle hash help hide highlight hold identify ignore implement
    import improve include increase increment index indicate infer inform inherit
    initialise initialize inject inpaint input insert inspect install instantiate
    integrate intercept interpolate interpret interrupt intersect introduce invalidate
    invert invoke isolate iterate join judge jump keep label launch learn leave let lift
    limit link list listen load locate lock log look loop lower maintain make manage
    manipulate map mark mask match maximize measure merge migrate mimic minimize mirror
    mock modify monitor mount move multiply mutate name negate normalise normalize note
    notify obtain offer open operate optimize order organize output overlap overlay
    override overwrite pack pad paint parse partition pass patch perform permute persist
    pick place plan plot poll pool pop populate post predict prefer prefetch prepare
    prepend preserve prevent print process produce project promote prompt propagate
    protect prove provide prune publish pull push put query quote raise rank reach read
    realign rebuild receive recommend recompute record recover rectify redirect reduce
    refer refine reflect refresh refuse register reject relabel relate relax release
    reload remember remove rename render reopen reorder repair repeat replace reply
    report represent reproduce request require resample rescale reserve reset reshape
    resize resolve respond restart restore restrict resume retain retrieve retry return
    reuse reverse revert review rewrite roll rotate round route run sample sanitize save
    scale scan score search seed segment select send separate serialise serialize serve
    set sharpen shift shorten show shrink shuffle simplify simulate skip slice smooth
    solve sort specify split spread stack start state step stop store stretch strip stub
    submit subscribe substitute subtract suggest sum summarise summarize supply support
    suppress swap switch sync synchronise synchronize synthesize take tear terminate
    test threshold throw tie time touch trace track train transfer transform translate
    transmit transpose traverse treat trigger trim truncate try tune turn tweak undo
    unite unpack unwrap update upgrade upload upsample use validate verify view visit
    visualize vote wait walk warn warp watch weigh weight widen wrap write yield zip
    """
)
"""Verbs that begin the docstring of a function, as in "Return the cost volume."."""

ARTICLES = frozenset(("the", "a", "an"))

HARD_SUMMARY = re.compile(r"[,;:]|\b(?:what|which|that|those|who|whose|where|whoever|own|one)\b")
"""Signs of a clause, which a summary that begins with an article should not have."""

MAX_SUMMARY_WORDS = 15

FAULT_WORDS = re.compile("fault|wrong|warn|error|doubt|message|refuse|invalid|fail", re.IGNORECASE)
"""Parts of the names of functions and variables that hold messages."""

_AFTER_OWN = "and|are|as|at|but|by|in|is|of|on|or|to"

MARKER_GROUPS = {
    "a pronoun in place of a noun": (
        r"\b(?:anybody|nobody|somebody|what|whoever)\b",
        r"\bthose\s+(?:of|that|which|who)\b",
        r"\bthat\s+which\b",
        r"\bso\s+many\b",
    ),
    "an adjective without its noun": (
        rf"\bown\b(?=\s*[.,;:)]|\s*$|\s+(?:{_AFTER_OWN})\b)",
        r"\b(?:are|had|has|have|is|was|were)\s+(?-i:none)\b",
    ),
    "a program that speaks": (r"\b(?:asked|asks|hears|knows|said|says|tell|telling|tells|told)\b",),
    "a thing that stands": (
        r"\b(?:stand|standing|stands|stood)\b(?!\s+for\b)",
        r"\btakes?\s+part\b",
    ),
    "a word that is rare in current English": (r"\b(?:alike|alone|anew|beside|besides)\b",),
}
"""Expressions that are frequent in the former prose of this project, by their kind.

Current English contains few of them. A word with a plain use, such as `others`, is not
in the list. The expression `(?-i:none)` matches the word, and not Python's None.
"""

_PATTERNS = "|".join(chain.from_iterable(MARKER_GROUPS.values()))

MARKERS = re.compile(_PATTERNS, re.IGNORECASE | re.MULTILINE)

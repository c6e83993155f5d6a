# The words that all parts share: tags, states, kinds of region, what reading says.

cdef enum:
    TAG_THINK = 0
    TAG_THINK_CLOSE = 1
    TAG_CALL = 2
    TAG_CALL_CLOSE = 3
    TAG_FN = 4
    TAG_FN_CLOSE = 5
    TAG_PARAM = 6
    TAG_PARAM_CLOSE = 7
    NO_TAG = -1

cdef enum:
    B_THINK = 1
    B_THINK_CLOSE = 2
    B_CALL = 4
    B_CALL_CLOSE = 8
    B_FN = 16
    B_FN_CLOSE = 32
    B_PARAM = 64
    B_PARAM_CLOSE = 128

# How much of a tag has been read.
cdef enum:
    READ_NONE = 0       # no tag, or only a proper prefix of one
    READ_OPEN = 1       # the literal part; its NAME or variant is not finished
    READ_WHOLE = 2
    READ_BROKEN = 3     # the literal part, but the NAME broke off at `end`

# What reading said.
cdef enum:
    DONE = 0
    MORE = 1            # undecided: the window ends here and the turn goes on
    OVER = 2            # more whitespace than a window

cdef enum:
    S_REASONING = 0
    S_CONTENT = 1
    S_BLOCK = 2         # behind a call, before its wrapper ends
    S_FUNCTION = 3
    S_VALUE = 4
    S_JSON = 5
    S_BROKEN = 6
    S_END = 7

cdef enum:
    K_THINK_OPEN, K_THINK_BODY, K_THINK_CLOSE, K_LATE_CLOSE, K_WS, K_CONTENT
    K_CALL_OPEN, K_FN_OPEN, K_NAME, K_FN_OPEN_END, K_PARAM_OPEN, K_KEY, K_PARAM_OPEN_END
    K_LEAD, K_VALUE, K_TRAIL, K_PARAM_CLOSE, K_FN_CLOSE, K_CALL_CLOSE
    K_JSON_OPEN, K_JSON_NAME, K_JSON_ARGS, K_JSON_CLOSE
    K_JUNK, K_STRAY, K_STOP, K_TRAILING
    # zero-width records
    R_CALL, R_ARG, R_TEXT, R_ARG_END, R_CALL_END, R_ISSUE, R_CUT

cdef enum:
    RUNNING = 1
    FAILED = 2

cdef enum:
    MODE_NONE = 0
    MODE_EVENTS = 1
    MODE_DELTA = 2

cdef enum:
    FRESH_NO = 0
    FRESH_AUTO = 1
    FRESH_CONTENT = 2
    FRESH_REASONING = 3

cdef struct Lex:
    int tag
    int read
    unsigned int could      # tags of which the text up to the end is a proper prefix
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t at           # resume here

cdef struct Rec:
    int kind
    Py_ssize_t aux
    Py_ssize_t start
    Py_ssize_t end

cdef tuple KINDS = formats.KINDS
cdef Py_ssize_t WINDOW = formats.WINDOW
cdef Py_ssize_t NAME_LIMIT = formats.NAME_LIMIT
cdef Py_ssize_t VARIANT_LIMIT = formats.VARIANT_LIMIT
cdef list ASCII = [chr(k) for k in range(128)]

# Kinds whose text of that length is always the same: no string is made for it.
cdef list FIXED = [None] * len(KINDS)
cdef Py_ssize_t FIXED_LEN[64]
cdef char TAG_TEXT[8][16]
cdef Py_ssize_t TAG_LEN[8]

cdef enum:
    TAG_LONGEST = 12


cdef void _load_tags() except *:
    cdef Py_ssize_t i, k
    cdef str tag
    assert len(formats.TAGS) == 8 and max(map(len, formats.TAGS)) == TAG_LONGEST
    for i in range(8):
        tag = formats.TAGS[i]
        TAG_LEN[i] = len(tag)
        for k in range(len(tag)):
            TAG_TEXT[i][k] = <char> <int> tag[k]


_load_tags()


cdef void _load_fixed() except *:
    cdef Py_ssize_t k
    cdef dict texts = dict(zip(
        (K_THINK_OPEN, K_THINK_CLOSE, K_CALL_OPEN, K_CALL_CLOSE, K_FN_OPEN, K_FN_CLOSE, K_PARAM_OPEN), formats.TAGS))
    texts[K_PARAM_CLOSE] = "</parameter>"
    texts[K_LATE_CLOSE] = "</think>"
    for k in range(len(KINDS)):
        FIXED[k] = texts.get(k)
        FIXED_LEN[k] = -1 if FIXED[k] is None else len(FIXED[k])


_load_fixed()

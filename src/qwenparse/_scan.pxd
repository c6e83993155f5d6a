"""Inline C of the scanner: character classes, the next '<', the line state. Knows no policy and no format rule."""

from libc.string cimport memchr, memcmp, memcpy

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void* PyUnicode_DATA(object)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t index) noexcept nogil
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    bint PyUnicode_IS_ASCII(object)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    object PyUnicode_FromKindAndData(int kind, const void* data, Py_ssize_t size)
    object PyUnicode_Substring(object, Py_ssize_t start, Py_ssize_t end)
    object PyUnicode_DecodeUTF8Stateful(const char* s, Py_ssize_t size, const char* errors, Py_ssize_t* consumed)

cdef extern from *:
    """
    /* Which byte in memory order is the first that is not 0, of eight that are 0 or 1. */
    static CYTHON_INLINE int qwenparse_first_byte(unsigned long long some) {
    #if defined(__GNUC__) && PY_LITTLE_ENDIAN
        return __builtin_ctzll(some) >> 3;
    #else
        int k = 0;
        while (!((unsigned char *) &some)[k]) k++;
        return k;
    #endif
    }
    """
    int first_byte "qwenparse_first_byte" (unsigned long long) noexcept nogil


cdef inline bint is_ws(Py_UCS4 c) noexcept nogil:
    return c == 32 or 9 <= c <= 13


# A character of a str, by kind.
ctypedef fused Unit:
    unsigned char
    unsigned short
    unsigned int


cdef inline Py_ssize_t _find(const Unit* text, Py_ssize_t i, Py_ssize_t n, Unit a, Unit b) noexcept nogil:
    """Index of the first `a` or `b` in [i, n), or n."""
    cdef unsigned char hits[16]
    cdef unsigned long long some
    cdef int k
    while n - i >= 16:
        for k in range(16):         # no way out of it: a compiler makes it vectors
            hits[k] = (text[i + k] == a) | (text[i + k] == b)
        memcpy(&some, hits, 8)
        if some:
            return i + first_byte(some)
        memcpy(&some, hits + 8, 8)
        if some:
            return i + 8 + first_byte(some)
        i += 16
    while i < n and text[i] != a and text[i] != b:
        i += 1
    return i


cdef inline Py_ssize_t find_char(int kind, void* data, Py_ssize_t i, Py_ssize_t n, Py_UCS4 c) noexcept nogil:
    """Index of the first `c` in [i, n), or n. `c` is ASCII."""
    cdef const void* hit
    if i >= n:
        return n
    if kind == 1:
        hit = memchr(<char*> data + i, <int> c, n - i)
        return n if hit == NULL else <Py_ssize_t> (<char*> hit - <char*> data)
    hit = memchr(<char*> data + i * kind, <int> c, (n - i) * kind)
    if hit == NULL:
        return n
    i = (<char*> hit - <char*> data) >> (kind >> 1)
    if PyUnicode_READ(kind, data, i) == c:
        return i
    # A byte of another character: text in some scripts is full of them.
    if kind == 2:
        return _find(<const unsigned short*> data, i, n, <unsigned short> c, <unsigned short> c)
    return _find(<const unsigned int*> data, i, n, <unsigned int> c, <unsigned int> c)


cdef inline bint holds(int kind, void* data, Py_ssize_t n, Py_UCS4 c) noexcept nogil:
    """Whether `c`, which is ASCII, is among the first n characters."""
    if kind == 1:
        return memchr(data, <int> c, n) != NULL
    return find_char(kind, data, 0, n, c) < n


cdef inline Py_ssize_t find_quote(int kind, void* data, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Index of the first '"' or backslash in [i, n), or n."""
    if kind == 1:
        return _find(<const unsigned char*> data, i, n, <unsigned char> 34, <unsigned char> 92)
    if kind == 2:
        return _find(<const unsigned short*> data, i, n, <unsigned short> 34, <unsigned short> 92)
    return _find(<const unsigned int*> data, i, n, <unsigned int> 34, <unsigned int> 92)


cdef inline bint is_text(int kind, void* data, Py_ssize_t i, const char* text, Py_ssize_t size) noexcept nogil:
    """Whether these `size` ASCII characters stand at i."""
    cdef const unsigned short* u2 = <const unsigned short*> data
    cdef const unsigned int* u4 = <const unsigned int*> data
    cdef Py_ssize_t k
    if kind == 1:
        return memcmp(<char*> data + i, text, size) == 0
    for k in range(size):
        if (u2[i + k] if kind == 2 else u4[i + k]) != <unsigned int> text[k]:
            return False
    return True


cdef inline Py_ssize_t _name_end(const Unit* text, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    while i < n and (text[i] > 62 or not (text[i] == 62 or text[i] == 60 or text[i] == 10 or text[i] == 13)):
        i += 1
    return i


cdef inline Py_ssize_t name_end(int kind, void* data, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Index of the first '<', '>', newline or carriage return in [i, n), or n."""
    if kind == 1:
        return _name_end(<const unsigned char*> data, i, n)
    if kind == 2:
        return _name_end(<const unsigned short*> data, i, n)
    return _name_end(<const unsigned int*> data, i, n)


cdef inline Py_ssize_t characters(const char* text, Py_ssize_t n) noexcept nogil:
    """Characters that begin in n bytes of valid UTF-8."""
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t i = 0
    cdef unsigned char some
    cdef int k
    while n - i >= 64:
        some = 0
        for k in range(64):
            some += <signed char> text[i + k] >= -64
        count += some
        i += 64
    while i < n:
        count += <signed char> text[i] >= -64
        i += 1
    return count


cdef inline bint _holds_broken(const Unit* text, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef Unit hit = 0
    cdef int k
    while n - i >= 64:
        for k in range(64):
            hit |= (text[i + k] & ~<Unit> 0x7F) == 0xDC80
        i += 64
    while i < n:
        hit |= (text[i] & ~<Unit> 0x7F) == 0xDC80
        i += 1
    return hit != 0


cdef inline bint holds_broken(int kind, void* data, Py_ssize_t n) noexcept nogil:
    """Whether an undecodable byte (PEP 383) is among the characters. Kind 1 cannot hold one."""
    cdef const void* hit
    cdef Py_ssize_t i
    if kind == 1:
        return False
    hit = memchr(data, 0xDC, n * kind)      # most texts hold no such byte at all
    if hit == NULL:
        return False
    i = (<char*> hit - <char*> data) >> (kind >> 1)
    if kind == 2:
        return _holds_broken(<const unsigned short*> data + i, n - i)
    return _holds_broken(<const unsigned int*> data + i, n - i)


# The line a section is in: whether only blanks stand before this place, and whether a code fence is open.
cdef struct Line:
    bint bol              # only spaces and tabs since the newline or the beginning of the section
    char phase            # of a fence line: LINE_INDENT, LINE_RUN, LINE_INFO, LINE_PLAIN
    bint blank_info       # only WS behind the run: it may close a fence
    Py_UCS4 mark          # of the run on this line
    Py_ssize_t count      # spaces (LINE_INDENT) or length of the run
    Py_UCS4 fence         # of the open fence, 0 if none
    Py_ssize_t fence_count

cdef enum:
    LINE_INDENT = 0
    LINE_RUN = 1
    LINE_INFO = 2
    LINE_PLAIN = 3


cdef inline void line_reset(Line* l) noexcept nogil:
    l.bol = True
    l.phase = LINE_INDENT
    l.count = 0
    l.fence = 0
    l.fence_count = 0
    l.mark = 0
    l.blank_info = True


cdef inline void line_newline(Line* l) noexcept nogil:
    if l.phase == LINE_RUN or l.phase == LINE_INFO:
        if l.fence == 0:
            if l.count >= 3:
                l.fence = l.mark
                l.fence_count = l.count
        elif l.mark == l.fence and l.count >= l.fence_count and l.blank_info:
            l.fence = 0
    l.bol = True
    l.phase = LINE_INDENT
    l.count = 0
    l.blank_info = True


cdef inline void line_step(Line* l, Py_UCS4 c) noexcept nogil:
    if c == 10:
        line_newline(l)
        return
    if l.bol and c != 32 and c != 9:
        l.bol = False
    if l.phase == LINE_PLAIN:
        return
    if l.phase == LINE_INDENT:
        if c == 32 and l.count < 3:
            l.count += 1
        elif c == 96 or c == 126:
            l.phase = LINE_RUN
            l.mark = c
            l.count = 1
        else:
            l.phase = LINE_PLAIN
    elif l.phase == LINE_RUN:
        if c == l.mark:
            l.count += 1
        elif l.count < 3:
            l.phase = LINE_PLAIN
        else:
            l.phase = LINE_INFO
            if not is_ws(c):
                l.blank_info = False
                if c == 96 and l.mark == 96:
                    l.phase = LINE_PLAIN
    elif not is_ws(c):
        l.blank_info = False
        if c == 96 and l.mark == 96:
            l.phase = LINE_PLAIN


cdef inline void line_feed(Line* l, int kind, void* data, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """Moves the line state over [i, n)."""
    cdef Py_UCS4 c
    while i < n:
        if l.phase == LINE_PLAIN and not l.bol:
            i = find_char(kind, data, i, n, 10)
            if i == n:
                return
            line_newline(l)
            i += 1
            continue
        c = PyUnicode_READ(kind, data, i)
        if c > 32 and c != 96 and c != 126 and l.phase == LINE_INDENT:      # the way of almost all lines
            l.bol = False
            l.phase = LINE_PLAIN
        else:
            line_step(l, c)
        i += 1


cdef inline bint blanks_since_newline(int kind, void* data, Py_ssize_t i, Py_ssize_t n, bint before) noexcept nogil:
    """Whether only spaces and tabs stand between n and the newline before it; `before`: the answer at i."""
    cdef Py_UCS4 c
    while n > i:
        c = PyUnicode_READ(kind, data, n - 1)
        if c == 10:
            return True
        if c != 32 and c != 9:
            return False
        n -= 1
    return before

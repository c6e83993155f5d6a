"""An incremental JSON lexer: one character a step, strict but for raw control characters inside strings.

It reports what happens at depth 1, the members of the outermost object; what a member means is not its business.
"""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

cdef enum:
    J_VALUE = 0          # a value must come
    J_VALUE_OR_END = 1   # behind '['
    J_KEY_OR_END = 2     # behind '{'
    J_KEY = 3            # behind ',' in an object
    J_COLON = 4
    J_AFTER = 5          # behind a value
    J_STRING = 6
    J_ESCAPE = 7
    J_HEX = 8
    J_MINUS = 9
    J_ZERO = 10
    J_INT = 11
    J_DOT = 12
    J_FRAC = 13
    J_E = 14
    J_ESIGN = 15
    J_EXP = 16
    J_WORD = 17
    J_DONE = 18

# What a step says of the top level (depth 1).
cdef enum:
    JE_NONE = 0
    JE_FAULT = 1         # the character cannot stand here; it is not consumed
    JE_KEY = 2           # a key of depth 1 ends with this character
    JE_START = 4         # a value of depth 1 begins with this character
    JE_END = 8           # a value of depth 1 ends with this character
    JE_END_BEFORE = 16   # a number of depth 1 ended before this character
    JE_DONE = 32         # the outermost object ends with this character
    JE_KEY_START = 64    # a key of depth 1 begins with this character
    JE_MEMORY = 128

cdef struct Json:
    int state
    int left             # hex digits or letters still to come
    bint key             # the string being read is a key
    Py_ssize_t depth
    Py_ssize_t capacity
    char* stack          # '{' or '[' per level
    const char* word     # the rest of true, false, null


cdef inline void json_init(Json* j) noexcept nogil:
    """Ready for the '{' of an outermost object. Keeps the memory of the stack."""
    j.state = J_VALUE
    j.depth = 0
    j.key = False
    j.left = 0
    j.word = NULL


cdef inline int json_copy(Json* to, Json* source) noexcept nogil:
    to[0] = source[0]
    if source.stack != NULL:
        to.stack = <char*> malloc(source.capacity)
        if to.stack == NULL:
            to.capacity = 0
            return -1
        memcpy(to.stack, source.stack, source.depth)
    return 0


cdef inline bint _json_push(Json* j, char c) noexcept nogil:
    cdef char* grown
    cdef Py_ssize_t capacity
    if j.depth == j.capacity:
        capacity = 32 if j.capacity == 0 else j.capacity * 2
        grown = <char*> realloc(j.stack, capacity)
        if grown == NULL:
            return False
        j.stack = grown
        j.capacity = capacity
    j.stack[j.depth] = c
    j.depth += 1
    return True


cdef inline int _json_value(Json* j, Py_UCS4 c) noexcept nogil:
    """A value begins with c."""
    cdef int said = JE_START if j.depth == 1 else JE_NONE
    if c == 34:
        j.state = J_STRING
        j.key = False
    elif c == 123 or c == 91:
        if not _json_push(j, <char> c):
            return JE_MEMORY
        j.state = J_KEY_OR_END if c == 123 else J_VALUE_OR_END
    elif c == 45:
        j.state = J_MINUS
    elif c == 48:
        j.state = J_ZERO
    elif 49 <= c <= 57:
        j.state = J_INT
    elif c == 116:
        j.state = J_WORD
        j.word = "rue"
        j.left = 3
    elif c == 102:
        j.state = J_WORD
        j.word = "alse"
        j.left = 4
    elif c == 110:
        j.state = J_WORD
        j.word = "ull"
        j.left = 3
    else:
        return JE_FAULT
    return said


cdef inline int _json_pop(Json* j) noexcept nogil:
    j.depth -= 1
    if j.depth == 0:
        j.state = J_DONE
        return JE_DONE
    j.state = J_AFTER
    return JE_END if j.depth == 1 else JE_NONE


cdef inline bint is_json_ws(Py_UCS4 c) noexcept nogil:
    return c == 32 or c == 10 or c == 13 or c == 9


cdef inline bint _is_hex(Py_UCS4 c) noexcept nogil:
    return 48 <= c <= 57 or 65 <= c <= 70 or 97 <= c <= 102


cdef inline bint is_simple_escape(Py_UCS4 c) noexcept nogil:
    """Whether it may stand behind a backslash, and no digits follow."""
    return c == 110 or c == 34 or c == 92 or c == 116 or c == 47 or c == 98 or c == 102 or c == 114


cdef inline int json_step(Json* j, Py_UCS4 c) noexcept nogil:
    """Reads one character; says what it means at depth 1, or JE_FAULT (then the state is as before)."""
    cdef int s = j.state
    cdef int said = JE_NONE
    if s == J_STRING:
        if c == 34:
            if j.key:
                j.state = J_COLON
                return JE_KEY if j.depth == 1 else JE_NONE
            j.state = J_AFTER
            return JE_END if j.depth == 1 else JE_NONE
        if c == 92:
            j.state = J_ESCAPE
        return JE_NONE
    if s == J_ESCAPE:
        if c == 117:
            j.state = J_HEX
            j.left = 4
        elif is_simple_escape(c):
            j.state = J_STRING
        else:
            return JE_FAULT
        return JE_NONE
    if s == J_HEX:
        if not _is_hex(c):
            return JE_FAULT
        j.left -= 1
        if j.left == 0:
            j.state = J_STRING
        return JE_NONE
    if s == J_WORD:
        if c != <Py_UCS4> j.word[0]:
            return JE_FAULT
        j.word += 1
        j.left -= 1
        if j.left == 0:
            j.state = J_AFTER
            return JE_END if j.depth == 1 else JE_NONE
        return JE_NONE
    if J_MINUS <= s <= J_EXP:
        if 48 <= c <= 57:
            if s == J_MINUS:
                j.state = J_ZERO if c == 48 else J_INT
            elif s == J_ZERO:
                return JE_FAULT
            elif s == J_DOT:
                j.state = J_FRAC
            elif s == J_E or s == J_ESIGN:
                j.state = J_EXP
            return JE_NONE
        if c == 46 and (s == J_ZERO or s == J_INT):
            j.state = J_DOT
            return JE_NONE
        if (c == 69 or c == 101) and (s == J_ZERO or s == J_INT or s == J_FRAC):
            j.state = J_E
            return JE_NONE
        if (c == 43 or c == 45) and s == J_E:
            j.state = J_ESIGN
            return JE_NONE
        if s == J_MINUS or s == J_DOT or s == J_E or s == J_ESIGN:
            return JE_FAULT
        if j.depth == 1:
            said = JE_END_BEFORE
        s = J_AFTER                            # the number is over; c belongs to what follows it
    if is_json_ws(c):
        j.state = s
        return said
    if s == J_AFTER:
        if c == 44:
            j.state = J_KEY if j.stack[j.depth - 1] == 123 else J_VALUE
            return said
        if (c == 125 and j.stack[j.depth - 1] == 123) or (c == 93 and j.stack[j.depth - 1] == 91):
            return said | _json_pop(j)
        return said | JE_FAULT
    if s == J_VALUE:
        return _json_value(j, c)
    if s == J_VALUE_OR_END:
        if c == 93:
            return _json_pop(j)
        return _json_value(j, c)
    if s == J_KEY_OR_END and c == 125:
        return _json_pop(j)
    if s == J_KEY or s == J_KEY_OR_END:
        if c != 34:
            return JE_FAULT
        j.state = J_STRING
        j.key = True
        return JE_KEY_START if j.depth == 1 else JE_NONE
    if s == J_COLON and c == 58:
        j.state = J_VALUE
        return JE_NONE
    return JE_FAULT

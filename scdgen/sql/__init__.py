"""SQL as text: quoting, reading a user's expression, tokens, types and the layout of lists. Knows no spec."""

from scdgen.sql.expression import (
    CONTROL,
    LINE_ENDS,
    Fragment,
    expression,
    is_never_null,
    is_query,
    join_name,
    no_variable,
    param_value,
    query,
    quote,
    quote_parts,
    split_name,
    text_literal,
    unquote,
    variable,
)

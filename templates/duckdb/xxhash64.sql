-- XXHASH64 of a text with Spark's seed: XXH64 of its UTF-8 bytes, as a signed number. A list of one value with a lambda
-- names that value, because a macro repeats its arguments.

CREATE OR REPLACE MACRO _spark_xxh_low(v) AS v & 18446744073709551615::UHUGEINT;
CREATE OR REPLACE MACRO _spark_xxh_turn(v, bits) AS _spark_xxh_low(v << bits::UHUGEINT) | (v >> (64 - bits)::UHUGEINT);
CREATE OR REPLACE MACRO _spark_xxh_round(lane, word) AS _spark_xxh_low(
    _spark_xxh_turn(_spark_xxh_low(lane + word * 14029467366897019727::UHUGEINT), 31) * 11400714785074694791::UHUGEINT
);

-- The number that bytes are, the lowest one first.
CREATE OR REPLACE MACRO _spark_xxh_word(bytes) AS list_reduce(list_reverse(bytes), lambda a, b: a * 256::UHUGEINT + b);

-- 1. Stripes of 32 bytes go into four lanes, which are merged.
CREATE OR REPLACE MACRO _spark_xxh_lane(bytes, lane, seed) AS list_reduce(
    list_transform(range(8 * lane, len(bytes) // 32 * 32, 32), lambda i: _spark_xxh_word(bytes[i + 1 : i + 8])),
    lambda a, word: _spark_xxh_round(a, word),
    seed::UHUGEINT
);
CREATE OR REPLACE MACRO _spark_xxh_stripes(bytes) AS list_transform(
    [[
        _spark_xxh_lane(bytes, 0, 6983438078262162944), _spark_xxh_lane(bytes, 1, 14029467366897019769),
        _spark_xxh_lane(bytes, 2, 42), _spark_xxh_lane(bytes, 3, 7046029288634856867)
    ]],
    lambda lanes: list_reduce(
        lanes,
        lambda found, lane: _spark_xxh_low(
            xor(found, _spark_xxh_round(0::UHUGEINT, lane)) * 11400714785074694791::UHUGEINT
            + 9650029242287828579::UHUGEINT
        ),
        _spark_xxh_low(
            _spark_xxh_turn(lanes[1], 1) + _spark_xxh_turn(lanes[2], 7)
            + _spark_xxh_turn(lanes[3], 12) + _spark_xxh_turn(lanes[4], 18)
        )
    )
)[1];

-- 2. The rest goes in by 8, 4 and 1 bytes.
CREATE OR REPLACE MACRO _spark_xxh_eights(bytes, given) AS list_reduce(
    list_transform(range(len(bytes) // 32 * 32, len(bytes) - 7, 8), lambda i: _spark_xxh_word(bytes[i + 1 : i + 8])),
    lambda a, word: _spark_xxh_low(
        _spark_xxh_turn(xor(a, _spark_xxh_round(0::UHUGEINT, word)), 27) * 11400714785074694791::UHUGEINT
        + 9650029242287828579::UHUGEINT
    ),
    given
);
CREATE OR REPLACE MACRO _spark_xxh_fours(bytes, given) AS list_reduce(
    list_transform(range(len(bytes) // 8 * 8, len(bytes) - 3, 4), lambda i: _spark_xxh_word(bytes[i + 1 : i + 4])),
    lambda a, word: _spark_xxh_low(
        _spark_xxh_turn(xor(a, _spark_xxh_low(word * 11400714785074694791::UHUGEINT)), 23) * 14029467366897019727::UHUGEINT
        + 1609587929392839161::UHUGEINT
    ),
    given
);
CREATE OR REPLACE MACRO _spark_xxh_ones(bytes, given) AS list_reduce(
    bytes[len(bytes) // 4 * 4 + 1 :],
    lambda a, byte: _spark_xxh_low(
        _spark_xxh_turn(xor(a, _spark_xxh_low(byte * 2870177450012600261::UHUGEINT)), 11) * 11400714785074694791::UHUGEINT
    ),
    given
);
CREATE OR REPLACE MACRO _spark_xxh_bytes(bytes) AS
    _spark_xxh_ones(bytes, _spark_xxh_fours(bytes, _spark_xxh_eights(bytes, _spark_xxh_low(
        len(bytes)::UHUGEINT
        + CASE WHEN len(bytes) < 32 THEN 2870177450012600303::UHUGEINT ELSE _spark_xxh_stripes(bytes) END
    ))));

-- 3. Each bit of the input changes half of the bits of the result.
CREATE OR REPLACE MACRO _spark_xxh_stir(v, bits, factor) AS
    list_transform([v], lambda a: _spark_xxh_low(xor(a, a >> bits::UHUGEINT) * factor::UHUGEINT))[1];
CREATE OR REPLACE MACRO _spark_xxh_signed(v) AS
    list_transform([v], lambda a: (a::HUGEINT - (a >> 63::UHUGEINT)::HUGEINT * 18446744073709551616)::BIGINT)[1];
CREATE OR REPLACE MACRO _spark_xxhash64(x) AS list_transform(
    [list_transform(range(octet_length(encode(x))), lambda i: ('0x' || hex(x)[2 * i + 1 : 2 * i + 2])::UHUGEINT)],
    lambda bytes: _spark_xxh_signed(_spark_xxh_stir(_spark_xxh_stir(_spark_xxh_stir(
        _spark_xxh_bytes(bytes), 33, 14029467366897019727), 29, 1609587929392839161), 32, 1))
)[1];

"""Tables as codes and back, and the transformer around every imputer."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.baselines._coding import TableEncoder
from proximity_kernel_paper.baselines._encoding import ImputedTable
from proximity_kernel_paper.baselines._simple import KNN, Mean, ModeMean

GRADES = ["low", "mid", "high"]


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "age": [30, 50, None, 40],
            "grade": pd.Categorical(
                ["high", None, "low", "high"], categories=GRADES, ordered=True
            ),
            "blood": ["b", "0", "b", None],
            "town": pd.Categorical(["x", "y", None, "x"], categories=["z", "y", "x"]),
        },
        index=[7, 8, 9, 10],
    )


class Scripted:
    """An imputer that is no scikit-learn estimator, and fills with given values."""

    def __init__(self, fills):
        self.fills = fills

    def fit(self, values, categorical):
        self.seen = values, categorical
        return self

    def impute(self, values):
        return np.where(np.isnan(values), self.fills, values)


def test_codes_are_sorted_labels_and_ranks(table):
    encoder = TableEncoder().fit(table)
    nan = np.nan
    want = [[30, 2, 1, 0], [50, nan, 0, 1], [nan, 0, 1, nan], [40, 2, nan, 0]]
    np.testing.assert_array_equal(encoder.encode(table), want)
    np.testing.assert_array_equal(encoder.categorical, [False, False, True, True])
    assert [column.kind for column in encoder.columns] == [
        "numeric", "ordinal", "nominal", "nominal",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (["10", "9", None], [10, 9, np.nan]),
        (["-1.5", "2e3", " 4"], [-1.5, 2000, 4]),
        (pd.Categorical([30, 4, None]), [30, 4, np.nan]),
        (pd.Categorical(["3", "1"], ["1", "2", "3"], ordered=True), [3, 1]),
        # Indices: not all numbers, not finite, not Python's own way, not distinct.
        (["10", "9", "x"], [0, 1, 2]),
        (["10", "inf", "nan"], [0, 1, 2]),
        (["1_0", "2"], [0, 1]),
        (["1", "1.0", "2"], [0, 1, 2]),
        # Ranks, where the order is another.
        (pd.Categorical(["1", "3"], ["2", "3", "1"], ordered=True), [2, 1]),
    ],
)
def test_labels_that_spell_numbers_are_coded_by_these(column, codes):
    frame = pd.DataFrame({"a": column})
    encoder = TableEncoder().fit(frame)
    coded = encoder.encode(frame)
    np.testing.assert_array_equal(coded[:, 0], codes)
    known = frame["a"].notna()
    decoded = encoder.decode(coded[known], frame[known])
    pd.testing.assert_frame_equal(decoded, frame[known])
    by_index = TableEncoder(numbers=False).fit(frame)
    assert set(by_index.encode(frame)[known, 0]) <= {0, 1, 2}


def test_a_filled_label_is_the_one_with_the_nearest_number():
    frame = pd.DataFrame({"a": ["100", "9", "20"]})
    encoder = TableEncoder().fit(frame)
    codes = np.array([[-5.0], [14.0], [15.0], [59.0], [61.0], [999.0]])
    filled = encoder.decode(codes, pd.DataFrame({"a": codes[:, 0]}))
    assert filled["a"].tolist() == ["9", "9", "20", "20", "100", "100"]


def test_categories_of_several_types_are_refused_by_name():
    frame = pd.DataFrame({"mix": pd.Categorical(["a", 1, None])})
    with pytest.raises(TypeError, match=r"'mix'.*int, str; convert them to one type"):
        ImputedTable(Mean()).fit(frame)


def test_unseen_categories_are_missing_and_known_ones_keep_their_code(table):
    encoder = TableEncoder().fit(table)
    new = pd.DataFrame(
        {
            "age": [1.5, 2.5],
            "grade": ["mid", "best"],
            "blood": ["a", "b"],
            "town": pd.Categorical(["y", "z"]),
        }
    )
    np.testing.assert_array_equal(
        encoder.encode(new), [[1.5, 1, np.nan, 1], [2.5, np.nan, 1, np.nan]]
    )


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([1.0, None, 3.0], dtype="Float64"),
        np.array([1, None, 3], dtype=object),
        np.array([1, np.nan, 3.0], dtype=object),
        np.array([1, np.nan, 3], dtype=np.float32),
    ],
    ids=["Int64", "Float64", "objects", "mixed objects", "float32"],
)
def test_numbers_however_they_are_held(column):
    frame = pd.DataFrame({"a": column})
    coded = TableEncoder().fit(frame).encode(frame)
    np.testing.assert_array_equal(coded, [[1], [np.nan], [3]])
    assert coded.dtype == np.float64


@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_truth_is_a_number(dtype):
    frame = pd.DataFrame({"a": pd.Series([True, False], dtype=dtype)})
    np.testing.assert_array_equal(TableEncoder().fit(frame).encode(frame), [[1], [0]])


@pytest.mark.parametrize("dtype", ["str", object, "string", "category"])
def test_text_however_it_is_held(dtype):
    frame = pd.DataFrame({"a": pd.Series(["q", None, "p"], dtype=dtype)})
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.encode(frame), [[1], [np.nan], [0]])
    assert encoder.columns[0].kind == "nominal"
    filled = ImputedTable(ModeMean()).fit(frame).fill(frame)
    assert filled["a"].tolist() == ["q", "p", "p"]
    assert filled["a"].dtype == frame["a"].dtype


def test_what_is_no_table_is_refused():
    encoder = TableEncoder()
    with pytest.raises(TypeError, match="dict is no table"):
        encoder.fit({"a": [1]})
    with pytest.raises(ValueError, match="2 dimensions"):
        encoder.fit(np.zeros(3))
    with pytest.raises(ValueError, match="no cells"):
        encoder.fit(np.zeros((0, 3)))
    with pytest.raises(TypeError, match="'when' holds datetime64"):
        encoder.fit(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}))
    with pytest.raises(TypeError, match="'a' holds mixed"):
        encoder.fit(pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}))


def test_infinity_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'a' holds infinity"):
        ImputedTable(Mean()).fit(pd.DataFrame({"a": [1.0, np.inf]}))


def test_the_columns_must_be_those_seen_at_fit(table):
    encoder = TableEncoder().fit(table)
    with pytest.raises(ValueError, match=r"Not seen at fit: 'years'\. Missing: 'age'"):
        encoder.encode(table.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="another order or number: 'town'"):
        encoder.encode(table[["town", "blood", "grade", "age"]])
    with pytest.raises(ValueError, match="Not seen at fit: 'x0'"):
        encoder.encode(np.zeros((1, 4)))
    with pytest.raises(
        ValueError, match="'age' was numeric when fitted and is nominal"
    ):
        encoder.encode(table.assign(age="old"))


def test_a_column_with_nothing_observed_in_a_batch_may_have_any_dtype(table):
    encoder = TableEncoder().fit(table)
    nothing = pd.DataFrame(
        {"age": [None], "grade": [np.nan], "blood": [np.nan], "town": [None]}
    )
    assert np.isnan(encoder.encode(nothing)).all()


def test_the_imputer_sees_the_coded_table_and_its_kinds(table):
    imputed = ImputedTable(Scripted([45, 1, 0, 1])).fit(table)
    values, categorical = imputed.imputer_.seen
    np.testing.assert_array_equal(values, TableEncoder().fit(table).encode(table))
    np.testing.assert_array_equal(categorical, [False, False, True, True])
    assert not hasattr(imputed.imputer, "seen")  # a copy was fitted


def test_columns_are_scaled_by_the_filled_fitted_table():
    # Filled, the column spans 0 to 8, not the observed 2 to 8.
    fitted = np.array([[2.0, 5.0], [8.0, 5.0], [np.nan, 5.0]])
    imputed = ImputedTable(Scripted([0.0, 5.0])).fit(fitted)
    np.testing.assert_array_equal(
        imputed.transform(fitted), [[0.25, 0], [1, 0], [0, 0]]
    )
    # New rows by the same range, also outside; a constant column stays 0.
    new = imputed.transform(np.array([[16.0, 7.0], [np.nan, np.nan]]))
    np.testing.assert_array_equal(new, [[2, 0], [0, 0]])


def test_filled_tables_are_in_the_units_of_the_table(table):
    filled = ImputedTable(Scripted([45.5, 0.6, 7.0, -3.0])).fit(table).fill(table)
    want = pd.DataFrame(
        {
            "age": [30.0, 50.0, 45.5, 40.0],
            "grade": pd.Categorical(
                ["high", "mid", "low", "high"], categories=GRADES, ordered=True
            ),
            "blood": ["b", "0", "b", "b"],
            "town": pd.Categorical(["x", "y", "x", "x"], categories=["z", "y", "x"]),
        },
        index=table.index,
    )
    pd.testing.assert_frame_equal(filled, want)


def test_a_filled_array_is_an_array():
    values = np.array([[1.0], [np.nan]])
    np.testing.assert_array_equal(
        ImputedTable(Mean()).fit(values).fill(values), [[1], [1]]
    )


def test_a_column_of_labels_never_seen_stays_missing():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]})
    imputed = ImputedTable(ModeMean()).fit(frame)
    np.testing.assert_array_equal(imputed.transform(frame), [[0, 0], [1, 0]])
    assert imputed.fill(frame)["b"].isna().all()
    new = pd.DataFrame({"a": [1.0], "b": ["text"]})
    np.testing.assert_array_equal(imputed.transform(new), [[0, 0]])


def test_names_out_and_frames_out(table):
    imputed = ImputedTable(KNN(2)).fit(table)
    assert imputed.get_feature_names_out().tolist() == list(table.columns)
    out = imputed.set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == list(table.columns)
    assert out.index.equals(table.index)

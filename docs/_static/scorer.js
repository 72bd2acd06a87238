// Pages for readers come before the records of decisions in the results of a search.
// The other numbers are Sphinx's own.
var Scorer = {
  score: (result) => {
    const [page, , , , score] = result;
    return /^(decisions|changes|contributing|paper|generated\/examples)/.test(page) ? score - 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

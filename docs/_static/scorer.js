// The order of the results of a search: pages with words of the query in their title
// first, then pages about a job, and modules and the records of decisions last. The other numbers
// are Sphinx's own.
var Scorer = {
  score: (result) => {
    const [page, title, anchor, , score] = result;
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const titled = title.toLowerCase().split(/\W+/);
    // Words with the same first five letters count as one: "cluster", "clusters".
    const shared = query
      .toLowerCase()
      .split(/\W+/)
      .filter((word) => word.length > 2)
      .filter((word) => titled.some((one) => one.startsWith(word.slice(0, 5))));
    const jobs = /^(imputation|outliers|neighbors|reasons|clusters|compare|prepare|sure|works-with)$/;
    const records = /^(decisions|changes|contributing|conduct|paper|generated\/examples)/;
    const module = (anchor || "").startsWith("#module-");
    const kind = module ? -40 : jobs.test(page) ? 6 : records.test(page) ? -40 : 0;
    return score + kind + 10 * shared.length;
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

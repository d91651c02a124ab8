// Files beside the page, loaded when somebody asks for what is in them. A page from a folder may not fetch, but may
// run scripts: each file calls barnabasDetail.
const details = new Map(), wanted = new Map();

window.barnabasDetail = (name, build, content) => {
  if (build === data.build) details.set(name, content);
  else wanted.get(name)?.fail(`report-detail/${name}.js is of another report; load the page again.`);
};

// The content of a file; null, and a sentence on the page, if it is not there.
function detail(name) {
  if (details.has(name)) return Promise.resolve(details.get(name));
  if (!wanted.has(name)) {
    const entry = {};
    entry.promise = new Promise((resolve) => {
      const script = make("script", { src: `report-detail/${name}.js` });
      entry.fail = (why) => {
        if (wanted.get(name) !== entry) return;
        complain(why);
        wanted.delete(name);
        script.remove();
        resolve(null);
      };
      script.onload = () => { if (details.has(name)) resolve(details.get(name)); else entry.fail(`report-detail/${name}.js could not be used; load the page again.`); };
      script.onerror = () => entry.fail(`report-detail/${name}.js is not there; expected the folder report-detail beside this page.`);
      document.head.append(script);
    });
    wanted.set(name, entry);
  }
  return wanted.get(name).promise;
}

function complain(why) {
  byId("trouble").textContent = why;
  byId("trouble").hidden = false;
}

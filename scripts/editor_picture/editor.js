// An editor with one script, for scripts/editor_picture.py.
// Monaco is the editor component of VS Code; monaco-yaml contains yaml-language-server.
import * as monaco from "monaco-editor";
import { configureMonacoYaml } from "monaco-yaml";

window.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(label === "yaml" ? "yaml.worker.js" : "editor.worker.js"),
};

window.openScript = async (text) => {
  const schema = await (await fetch("schema.json")).json();
  configureMonacoYaml(monaco, {
    schemas: [{ fileMatch: ["*"], uri: "http://localhost/stereo.schema.json", schema }],
  });
  const model = monaco.editor.createModel(text, "yaml", monaco.Uri.parse("file:///mine.yaml"));
  window.editor = monaco.editor.create(document.getElementById("editor"), {
    model,
    fontSize: 15,
    minimap: { enabled: false },
    scrollBeyondLastLine: false,
    quickSuggestions: false,
    wordBasedSuggestions: "off",
    overviewRulerLanes: 0,
  });
  const line = model.getLineCount();
  window.editor.setPosition({ lineNumber: line, column: model.getLineMaxColumn(line) });
  window.editor.focus();
};

window.complete = () => window.editor.trigger("picture", "editor.action.triggerSuggest", {});
window.showDetails = () => window.editor.trigger("picture", "toggleSuggestionDetails", {});

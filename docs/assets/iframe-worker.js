// Search runs in a worker, which browsers refuse to pages that were opened as a file. There, an
// invisible frame takes its place. As between a page and a worker, messages are copies, and come
// after the call that sent them has returned.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage?.({ data: copy }));
      };
      this.receive = (data) => inside.onmessage?.({ data });
      const script = inside.document.createElement("script");
      this.ready = new Promise((loaded, failed) => {
        script.onload = loaded;
        script.onerror = failed;
      });
      this.ready.catch((event) => this.onerror?.(event));
      script.src = url;
      inside.document.body.append(script);
    }
    postMessage(data) {
      const copy = structuredClone(data);
      this.ready.then(() => this.receive(copy), () => {});
    }
    terminate() {
      this.frame.remove();
    }
  };
}

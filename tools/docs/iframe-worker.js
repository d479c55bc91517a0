// Browsers start no worker for a page that was opened from a folder (file://), and the site's search is a worker. There a hidden
// frame of the page runs the worker's script in its place; the offline plugin of the theme knows this file by its name.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const place = new URL(url, location.href);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = address => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(address, place).href;
        script.onload = done;
        script.onerror = () => failed(new Error(`cannot load ${script.src}`));
        inside.document.body.append(script);
      });
      // One after the other, as a worker's importScripts; the search awaits it.
      inside.importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      inside.postMessage = data => this.tell(this, data);
      this.inside = inside;
      this.ready = load(place);
    }

    tell(target, data) {
      const message = new MessageEvent("message", {data});
      target.dispatchEvent(message);
      if (typeof target.onmessage === "function") target.onmessage(message);
    }

    postMessage(data) {
      this.ready.then(() => this.tell(this.inside, data));
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
}

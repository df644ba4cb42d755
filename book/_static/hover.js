// A picture in an image cannot be pointed at. As an object it is a document of its own, whose marks show
// their titles.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("img.hoverable")) {
    const picture = document.createElement("object");
    picture.type = "image/svg+xml";
    picture.data = image.src;
    picture.className = image.className;
    picture.role = "img";
    picture.ariaLabel = image.alt;
    image.replaceWith(picture);
  }
});

"""Makes PDF files with ReportLab, pikepdf and pycairo: python_producers.py PRODUCER DIRECTORY. Exits with 3 if it is not installed."""

import itertools
import sys
from pathlib import Path


def reportlab(directory):
    from reportlab.lib.pagesizes import A4, letter
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen import canvas

    for pages, size, compress, version, form in itertools.product((1, 3, 40), (A4, letter), (0, 1), ((1, 3), (1, 5)), (False, True)):
        name = f"{pages}-{'a4' if size is A4 else 'letter'}-{compress}-{version[1]}-{'form' if form else 'plain'}.pdf"
        made = canvas.Canvas(str(directory / name), pagesize=size, pageCompression=compress, pdfVersion=version)
        for number in range(pages):
            made.setFont("Helvetica", 14)
            made.drawString(72, 700, f"Page {number + 1}: PAY 100")
            made.bookmarkPage(str(number))
            made.addOutlineEntry(f"Page {number + 1}", str(number))
            if form and number == 0:
                made.acroForm.textfield(name="name", x=72, y=600, width=200, height=20, value="Zoé")
                made.acroForm.checkbox(name="agreed", x=72, y=560, checked=True)
            made.showPage()
        made.save()
    for strength in (40, 128):
        encryption = StandardEncryption("user", ownerPassword="owner", canModify=1, canAnnotate=1, strength=strength)
        made = canvas.Canvas(str(directory / f"encrypted-{strength}.pdf"), encrypt=encryption)
        made.drawString(72, 700, "PAY 100")
        made.save()


def pikepdf(directory):
    import pikepdf as pike

    for pages, mode, linear, preserve, version in itertools.product(
        (1, 25), ("disable", "generate"), (False, True), (False, True), ("1.4", "1.7", "2.0")
    ):
        made = pike.new()
        for number in range(pages):
            made.add_blank_page(page_size=(300 + number, 400))
            page = made.pages[-1]
            page.Contents = made.make_stream(b"BT /F1 12 Tf 20 300 Td (PAY 100) Tj ET")
            font = pike.Dictionary(Type=pike.Name.Font, Subtype=pike.Name.Type1, BaseFont=pike.Name.Helvetica)
            page.Resources = pike.Dictionary(Font=pike.Dictionary(F1=font))
            page.Rotate = 90 * (number % 4)
        with made.open_metadata() as metadata:
            metadata["dc:title"] = "Contrat signé"
        made.save(
            directory / f"{pages}-{mode}-{int(linear)}-{int(preserve)}-{version}.pdf",
            object_stream_mode=getattr(pike.ObjectStreamMode, mode),
            linearize=linear,
            compress_streams=preserve,
            force_version=version,
        )
    for revision in (2, 3, 4, 6):
        made = pike.new()
        made.add_blank_page()
        made.save(directory / f"encrypted-{revision}.pdf", encryption=pike.Encryption(user="user", owner="owner", R=revision, aes=revision > 3, metadata=revision > 3))


def cairo(directory):
    import cairo as graphics

    for pages, version, tagged in itertools.product((1, 4, 60), ("PDF_VERSION_1_4", "PDF_VERSION_1_5", "PDF_VERSION_1_7"), (False, True)):
        if not hasattr(graphics, version) and version != "PDF_VERSION_1_4" and not hasattr(graphics.PDFVersion, version[4:]):
            continue
        surface = graphics.PDFSurface(str(directory / f"{pages}-{version}-{int(tagged)}.pdf"), 595, 842)
        if hasattr(graphics.PDFVersion, version[4:]):
            surface.restrict_to_version(getattr(graphics.PDFVersion, version[4:]))
        context = graphics.Context(surface)
        for number in range(pages):
            if tagged:
                context.tag_begin("P", "")
            context.move_to(72, 100)
            context.set_font_size(20)
            context.show_text(f"Page {number + 1}: PAY 100 à Zoé")
            if tagged:
                context.tag_end("P")
            context.show_page()
        surface.finish()


producer, target = sys.argv[1], Path(sys.argv[2])
try:
    {"reportlab": reportlab, "pikepdf": pikepdf, "cairo": cairo}[producer](target)
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

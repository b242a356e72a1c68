"""Makes PDF files for the search: python_files.py LIBRARY DIRECTORY. Exits with 3 if the library is not installed."""

import io
import sys
from pathlib import Path


def reportlab(directory):
    from reportlab.pdfgen import canvas

    for version in ((1, 3), (1, 5)):
        made = canvas.Canvas(str(directory / f"form-{version[1]}.pdf"), pagesize=(400, 500), pdfVersion=version)
        for number in (1, 2):
            made.drawString(72, 450, f"Page {number}: PAY 100")
            made.bookmarkPage(str(number))
            made.addOutlineEntry(f"Page {number}", str(number))
            if number == 1:
                made.acroForm.textfield(name="amount", x=72, y=300, width=200, height=20, value="100")
                made.acroForm.checkbox(name="agreed", x=72, y=260, checked=False)
                made.acroForm.choice(name="pick", x=72, y=220, width=90, height=20, options=["a", "b"], value="a")
                made.acroForm.radio(name="kind", value="x", x=72, y=180, selected=True)
                made.acroForm.radio(name="kind", value="y", x=102, y=180)
                made.linkURL("https://example.org", (72, 100, 200, 120))
            made.showPage()
        made.save()


def plain():
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    made = canvas.Canvas(buffer, pagesize=(300, 400))
    for number in (1, 2):
        made.drawString(50, 350, f"Page {number}: PAY 100")
        if number == 1:
            made.acroForm.textfield(name="amount", x=50, y=200, width=200, height=20, value="100")
        made.showPage()
    made.save()
    buffer.seek(0)
    return buffer


def pypdf(directory):
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import FreeText, Link, Text

    writer = PdfWriter()
    reader = PdfReader(plain())
    writer.append(reader)
    writer.add_attachment("terms.txt", b"pay 100")
    first = writer.add_outline_item(title="First", page_number=0)
    writer.add_outline_item(title="Second", page_number=1, parent=first)
    writer.add_named_destination("end", 1)
    writer.add_annotation(0, FreeText(text="Seen", rect=(50, 100, 200, 150)))
    writer.add_annotation(0, Text(text="Note", rect=(250, 100, 270, 120)))
    writer.add_annotation(1, Link(rect=(50, 50, 100, 100), url="https://example.org"))
    writer.add_metadata({"/Title": "A contract"})
    writer.write(directory / "writer.pdf")


def pikepdf(directory):
    import pikepdf as pike

    made = pike.open(plain())
    made.Root.PageLabels = pike.Dictionary(Nums=pike.Array([0, pike.Dictionary(S=pike.Name.D)]))
    made.attachments["terms.txt"] = b"pay 100"
    with made.open_outline() as outline:
        outline.root.append(pike.OutlineItem("Annex", 1))
    with made.open_metadata() as metadata:
        metadata["dc:title"] = "A contract"
    made.save(directory / "packed.pdf", object_stream_mode=pike.ObjectStreamMode.generate, compress_streams=True)
    made.save(directory / "linear.pdf", object_stream_mode=pike.ObjectStreamMode.disable, linearize=True)


def pymupdf(directory):
    import pymupdf as mu

    made = mu.open()
    for number in (1, 2):
        page = made.new_page(width=300, height=400)
        page.insert_text((50, 50), f"Page {number}: PAY 100")
    page = made[0]
    page.add_freetext_annot((50, 100, 200, 150), "Seen")
    page.add_highlight_annot((50, 40, 150, 55))
    page.add_text_annot((250, 100), "Note")
    page.insert_link({"kind": mu.LINK_URI, "from": mu.Rect(50, 300, 90, 320), "uri": "https://example.org"})
    for name, kind, rect in (("amount", mu.PDF_WIDGET_TYPE_TEXT, (50, 200, 200, 220)), ("agreed", mu.PDF_WIDGET_TYPE_CHECKBOX, (50, 240, 70, 260))):
        widget = mu.Widget()
        widget.field_name, widget.field_type, widget.rect = name, kind, mu.Rect(rect)
        widget.field_value = "100" if name == "amount" else False
        page.add_widget(widget)
    made.embfile_add("terms.txt", b"pay 100")
    layer = made.add_ocg("Draft", on=False)
    page.insert_text((50, 80), "draft", oc=layer)
    made.set_toc([[1, "First", 1], [1, "Second", 2]])
    made.save(directory / "plain.pdf")
    made.save(directory / "packed.pdf", garbage=3, deflate=True, use_objstms=1)


def fpdf(directory):
    from fpdf import FPDF

    made = FPDF(unit="pt", format=(300, 400))
    made.set_font("Helvetica", size=12)
    for number in (1, 2):
        made.add_page()
        made.text(50, 50, f"Page {number}: PAY 100")
        made.start_section(f"Page {number}")
    made.text_annotation(100, 100, "Note")
    made.embed_file(bytes=b"pay 100", basename="terms.txt")
    made.output(str(directory / "plain.pdf"))


library, target = sys.argv[1], Path(sys.argv[2])
try:
    {"reportlab": reportlab, "pypdf": pypdf, "pikepdf": pikepdf, "pymupdf": pymupdf, "fpdf": fpdf}[library](target)
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

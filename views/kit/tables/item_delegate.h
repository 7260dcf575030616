// Paints a Cell: glyph or icon, text in Inter or mono, bar; and a detail as rich text across the row.
#pragma once

#include <QHeaderView>
#include <QStyledItemDelegate>

class QTextDocument;

namespace vitrine::kit {

class ItemView;

class ItemDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  explicit ItemDelegate(ItemView* view);
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  void paintDetail(QPainter* painter, const QRect& box, const QString& html) const;
  int detailWidth() const;
  ItemView* view_;
};

class ItemHeader : public QHeaderView {
  Q_OBJECT
 public:
  explicit ItemHeader(QWidget* parent);
  QSize sizeHint() const override;

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  void paintEvent(QPaintEvent* event) override;
};

// A column's title in that width: what is cut is the name, never the unit.
QString shownTitle(const QString& title, const QFont& font, int width);

// Rich text in the theme's fonts and colours: <code> is mono, a link is accent. width: logical pixels.
void layoutRichText(QTextDocument& document, const QString& html, int width);

}  // namespace vitrine::kit

// The key of linked colours in a header: each letter on its colour, and what it stands for.
#pragma once

#include <QWidget>
#include <vector>

namespace vitrine::kit {

struct LinkEntry {
  int letter = 0;
  QString text;  // "self.ln1(x)"
};

// As wide as its entries need; with less room the last are letters only, and then left out and counted.
class LinkKey : public QWidget {
  Q_OBJECT
 public:
  explicit LinkKey(QWidget* parent = nullptr);
  void setEntries(std::vector<LinkEntry> entries);
  const std::vector<LinkEntry>& entries() const { return entries_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  int widthOf(const LinkEntry& entry) const;
  std::vector<LinkEntry> entries_;
};

}  // namespace vitrine::kit

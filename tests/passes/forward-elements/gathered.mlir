// adc opt --passes=forward-elements,simplify
// x[columns] is an array that is read in one place: its elements are taken where they are needed.

func.func @f(%x: memref<?xf64> {adc.readonly = true}, %columns: memref<?xindex> {adc.readonly = true}, %v: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %columns, 0 : memref<?xindex>
  %t = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %columns[%i] : memref<?xindex>
    %a = memref.load %x[%at] : memref<?xf64>
    memref.store %a, %t[%i] : memref<?xf64>
    scf.reduce()
  }
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %a = memref.load %t[%i] : memref<?xf64>
    %b = memref.load %v[%i] : memref<?xf64>
    %p = arith.mulf %a, %b : f64
    scf.reduce(%p : f64) {kinds = ["add"]}
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64> {adc.readonly = true}, %columns: memref<?xindex> {adc.readonly = true}, %v: memref<?xf64> {adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %columns, 0 : memref<?xindex>
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %at = memref.load %columns[%i] : memref<?xindex>
    %a = memref.load %x[%at] : memref<?xf64>
    %b = memref.load %v[%i] : memref<?xf64>
    %p = arith.mulf %a, %b : f64
    scf.reduce(%p : f64) {kinds = ["add"]}
  }
  func.return %s : f64
}
